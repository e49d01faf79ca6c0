import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { findGo } from './go-toolchain.ts';
import { withLock } from './lock.ts';
import { binaryDir, KUBERNETES_VERSION } from './paths.ts';
import { run } from './process.ts';
import type { Progress } from './progress.ts';

const MODULE = join(import.meta.dirname, 'controlplane');

interface Target {
  readonly package: string;
  /** Built by `go test -c` instead of `go build`. */
  readonly test?: true;
  /** Folder of its go.mod, beside this file, where it is not the control plane's: pins of its own. */
  readonly module?: string;
  readonly tags?: string;
  /** Seconds on two cores with the ones before it built, to say what to expect. */
  readonly seconds: number;
}

const TARGETS = {
  etcd: { package: 'go.etcd.io/etcd/server/v3', seconds: 40 },
  'kube-apiserver': { package: 'k8s.io/kubernetes/cmd/kube-apiserver', seconds: 170 },
  'kube-controller-manager': { package: 'k8s.io/kubernetes/cmd/kube-controller-manager', seconds: 60 },
  'kube-scheduler': { package: 'k8s.io/kubernetes/cmd/kube-scheduler', seconds: 10 },
  kubectl: { package: 'k8s.io/kubernetes/cmd/kubectl', seconds: 20 },
  kubelet: { package: 'k8s.io/kubernetes/cmd/kubelet', seconds: 15 },
  agnhost: { package: 'k8s.io/kubernetes/test/images/agnhost', seconds: 10 },
  ginkgo: { package: 'github.com/onsi/ginkgo/v2/ginkgo', seconds: 10 },
  'e2e.test': { package: 'k8s.io/kubernetes/test/e2e', test: true, seconds: 150 },
  'metrics-server': {
    package: 'sigs.k8s.io/metrics-server/cmd/metrics-server',
    module: 'monitoring/metrics-server',
    seconds: 160,
  },
  promtool: {
    package: 'github.com/prometheus/prometheus/cmd/promtool',
    module: 'monitoring/promtool',
    // Service discovery is most of it, and no part of a check.
    tags: 'remove_all_sd',
    seconds: 120,
  },
} as const satisfies Record<string, Target>;

export type Binary = keyof typeof TARGETS;

export const CONTROL_PLANE_BINARIES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
] as const satisfies readonly Binary[];

export function binaryPath(name: Binary): string {
  return join(binaryDir(), name);
}

/** Builds those of the binaries that are not in the cache yet, one after another (each build uses all cores). */
export async function buildBinaries(names: readonly Binary[], progress: Progress): Promise<void> {
  const missing = (): Binary[] => names.filter((name) => !existsSync(binaryPath(name)));
  if (missing().length === 0) return;
  await withLock(
    join(binaryDir(), '.lock'),
    (pid) => progress.say(`process ${pid} is building the control plane; waiting for it …`),
    async () => {
      const todo = missing();
      if (todo.length === 0) return;
      const go = await findGo(progress);
      for (const [index, name] of todo.entries()) {
        const version = 'module' in TARGETS[name] ? '' : ` ${KUBERNETES_VERSION}`;
        const what = `building ${name}${version} (${index + 1} of ${todo.length}, about ${TARGETS[name].seconds} s on two cores, once)`;
        await progress.during(what, () => build(go, name));
      }
    },
  );
}

async function build(go: string, name: Binary): Promise<void> {
  const target: Target = TARGETS[name];
  const version = 'k8s.io/component-base/version';
  const [major, minor] = KUBERNETES_VERSION.slice(1).split('.');
  const stamp = `-X ${version}.gitVersion=${KUBERNETES_VERSION} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`;
  const flags = target.module === undefined ? `-s -w ${stamp}` : '-s -w';
  const command = target.test === true ? ['test', '-c'] : ['build'];
  const tags = target.tags === undefined ? [] : ['-tags', target.tags];
  const dir = target.module === undefined ? MODULE : join(import.meta.dirname, target.module);
  await goBuild(go, [...command, '-mod=readonly', ...tags, '-ldflags', flags], target.package, binaryPath(name), dir);
}

/** Folder with the sources of a module that the binaries are built from. */
export async function moduleSources(module: string, progress: Progress): Promise<string> {
  const go = await findGo(progress);
  const env = { ...process.env, GOWORK: 'off', GOTOOLCHAIN: 'local' };
  return (await run(go, ['list', '-mod=readonly', '-m', '-f', '{{.Dir}}', module], { cwd: MODULE, env })).trim();
}

/** Builds into a temporary name first: a build that is cut off leaves no half binary behind. */
export async function goBuild(
  go: string,
  command: readonly string[],
  what: string,
  output: string,
  cwd: string,
): Promise<void> {
  const partial = `${output}.partial`;
  mkdirSync(join(output, '..'), { recursive: true });
  try {
    await run(go, [...command, '-o', partial, what], {
      cwd,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off', GOTOOLCHAIN: 'local' },
    });
    await rename(partial, output);
  } finally {
    rmSync(partial, { force: true });
  }
}
