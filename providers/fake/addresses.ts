import { ProviderError } from '../contract/index.ts';

/** IPv4 addresses of one pod network. The network itself, its first address (the gateway) and its last one are never given out. */
export class AddressPool {
  readonly #base: number;
  readonly #size: number;
  readonly #subnet: string;
  readonly #used = new Set<number>();
  #next = 2;

  constructor(subnet: string) {
    const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(subnet);
    const bits = Number(match?.[5]);
    if (match === null || bits > 30) throw new ProviderError('InvalidSpec', `not a pod network: ${subnet}`);
    this.#subnet = subnet;
    this.#size = 2 ** (32 - bits);
    const address = match.slice(1, 5).reduce((sum, part) => sum * 256 + Number(part), 0);
    this.#base = address - (address % this.#size);
  }

  /** Goes round, so that an address just freed is not the next one given out. */
  allocate(): string {
    for (let tries = 0; tries < this.#size; tries++) {
      const offset = this.#next;
      this.#next = offset + 1 >= this.#size - 1 ? 2 : offset + 1;
      if (this.#used.has(offset)) continue;
      this.#used.add(offset);
      return this.#text(offset);
    }
    throw new ProviderError('ResourceExhausted', `no free address in ${this.#subnet}`);
  }

  release(address: string): void {
    const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
    this.#used.delete(value - this.#base);
  }

  #text(offset: number): string {
    const value = this.#base + offset;
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  }
}

/** 10.128.0.0/16 … 10.254.0.0/16, by node name: away from the usual Service ranges, and two nodes seldom share one. */
export function defaultSubnet(nodeName: string): string {
  let hash = 0;
  for (const char of nodeName) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 127;
  return `10.${128 + hash}.0.0/16`;
}
