const GO_NAMES: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  armv7l: 'arm',
  armv6l: 'arm',
  i386: '386',
  i686: '386',
};

/** The kernel's word for a machine in Go's words, which are Kubernetes' words. */
export function mapArch(machine: string): string {
  return GO_NAMES[machine] ?? machine;
}
