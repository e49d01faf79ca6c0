import { connect, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type DialFacet, type DialTarget, ProviderError } from '../../../providers/contract/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Deadline } from '../handlers/deadline.ts';

/** Whatever the target, the port is dialled on this machine's loopback. */
export class LoopbackDial implements DialFacet {
  readonly targets: DialTarget[] = [];
  readonly streams: Socket[] = [];

  dial(_uid: string, target: DialTarget, { signal }: { readonly signal: AbortSignal }): Promise<Duplex> {
    this.targets.push(target);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: target.port, allowHalfOpen: true, signal });
      this.streams.push(socket);
      socket.once('connect', () => resolve(socket));
      socket.once('error', (cause) => {
        const refused = 'code' in cause && cause.code === 'ECONNREFUSED';
        reject(refused ? new ProviderError('ConnectionRefused', 'connect: connection refused', { cause }) : cause);
      });
    });
  }

  get allDestroyed(): boolean {
    return this.streams.every(({ destroyed }) => destroyed);
  }
}

/** Listens on a free port; the port. */
export function listen(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('not a port'));
      else resolve(address.port);
    });
  });
}

/** A deadline of one second that a test lets pass, or not. */
export function oneSecond(clock = new FakeClock()): Deadline {
  return new Deadline(clock, 1_000, new AbortController().signal);
}

/** The same through streams that are no sockets, as a tunnel's are not. */
export class TunnelDial extends LoopbackDial {
  readonly tunnels: Duplex[] = [];

  override async dial(...args: Parameters<LoopbackDial['dial']>): Promise<Duplex> {
    const socket = await super.dial(...args);
    const tunnel = new Duplex({
      read: () => void socket.resume(),
      write: (chunk: Buffer, _, done) => void socket.write(chunk, done),
      final: (done) => void socket.end(done),
      destroy: (error, done) => {
        socket.destroy();
        done(error);
      },
    });
    socket.on('data', (chunk: Buffer) => {
      if (!tunnel.push(chunk)) socket.pause();
    });
    socket.on('end', () => tunnel.push(null));
    socket.on('error', (error) => tunnel.destroy(error));
    this.tunnels.push(tunnel);
    return tunnel;
  }
}
