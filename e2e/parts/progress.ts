/** Says what is being done and for how long, on stderr, so that stdout stays for results. */
export class Progress {
  readonly #write: (line: string) => void;
  readonly #everyMs: number;

  constructor(write: (line: string) => void = (line) => process.stderr.write(`${line}\n`), everyMs = 10_000) {
    this.#write = write;
    this.#everyMs = everyMs;
  }

  say(line: string): void {
    this.#write(line);
  }

  /** Prints `what` when it begins, how long it has taken every ten seconds, and its time when it took noticeably long. */
  async during<T>(what: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const seconds = (): string => `${Math.round((performance.now() - start) / 1000)} s`;
    this.#write(`${what} …`);
    const timer = setInterval(() => this.#write(`${what} … ${seconds()}`), this.#everyMs);
    try {
      const result = await work();
      this.#write(`${what}: done after ${seconds()}`);
      return result;
    } finally {
      clearInterval(timer);
    }
  }
}
