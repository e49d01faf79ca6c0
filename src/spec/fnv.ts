const PRIME = 0x01000193;
const OFFSET = 0x811c9dc5;

/** FNV-1a, 32 bits, as Go's hash/fnv names New32a; over the UTF-8 bytes of the text. */
export function fnv32a(text: string): number {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}
