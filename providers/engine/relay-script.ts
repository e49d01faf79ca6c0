import { isIPv4 } from 'node:net';

/**
 * What the relay runs for one connection. `nc` says nothing when it has connected, so whether somebody listens is read from the
 * kernel first; a word on standard error, apart from the data, then tells of it together with the PID to end it by.
 *
 * The nc of busybox shuts down its half at the end of its input, and ends with the target's output: the engine's stream cannot end
 * one half. OpenBSD's needs -N for the first, and does not do the second as long as its input is open.
 */
export function relayScript(addresses: readonly string[], port: number): string {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const patterns = (names: readonly string[]): string => names.map((name) => `*" ${name}:${hexPort} "*`).join('|');
  const exact = addresses.map((address) => `  ${patterns(listenersOf(address))}) go ${address};;`);
  // A server on [::] may or may not take IPv4 too, which the kernel does not show. A connect that fails has read nothing yet.
  const tries = addresses.map((address) => `to ${address}`).join(' || ');
  return `
command -v nc >/dev/null || { echo "no nc" >&2; exit 1; }
case $(nc -h 2>&1) in *-N*hutdown*) n=-N;; *) n=;; esac
to() { $x nc $n "$1" ${port}; }
l=' '
for f in /proc/net/tcp /proc/net/tcp6; do
  [ -r $f ] && while read -r _ a _ s _; do
    case $s in 0A) l="$l$a ";; esac
  done <$f
done
x=
go() { echo "open $$" >&2; x=exec; to "$1"; }
case $l in
${exact.join('\n')}
  ${patterns([ANY6])}) echo "open $$" >&2; ${tries}; exit;;
esac
echo refused >&2
exit 1
`;
}

const ANY4 = '00000000';
const ANY6 = '0'.repeat(32);

/** Local addresses, in the kernel's words, of servers that take a connection to this address; both byte orders. */
function listenersOf(address: string): readonly string[] {
  if (!isIPv4(address)) {
    const bytes = bytesOfIPv6(address);
    return [...new Set([hex(bytes), hex(swapped(bytes))])];
  }
  const bytes = address.split('.').map(Number);
  const mapped = [...Array<number>(10).fill(0), 0xff, 0xff, ...bytes];
  return [hex(swapped(bytes)), hex(bytes), ANY4, hex(swapped(mapped)), hex(mapped)];
}

function bytesOfIPv6(address: string): readonly number[] {
  const [head = '', tail] = address.split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const left = words(head);
  const right = words(tail ?? '');
  const filled = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
  return filled.flatMap((word) => [word >> 8, word & 0xff]);
}

/** The kernel prints words of four bytes as numbers of its own byte order. */
function swapped(bytes: readonly number[]): readonly number[] {
  return bytes.map((_, i) => bytes[(i & ~3) + 3 - (i & 3)] ?? 0);
}

function hex(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join('');
}
