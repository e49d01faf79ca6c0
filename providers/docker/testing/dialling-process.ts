import { systemClock } from '../../../src/util/clock.ts';
import type { PodUid } from '../../contract/index.ts';
import { provider } from '../index.ts';
import { parseConfig } from '../schema.ts';

/** A process that dials the loopback of a pod and stays, to be killed: SOCKET NODE UID PORT WAY. Says "up" when it is connected. */
const [socketPath, nodeName = '', uid = '', port, portForward] = process.argv.slice(2);
const { signal } = new AbortController();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const ownerLabels = { 'outrigger/node': nodeName, 'outrigger/format': '1' };
const context = { nodeName, ownerLabels, log, clock: systemClock, signal };
const opened = await provider.create(parseConfig({ socketPath, portForward }), context);
// The UID comes from the process that made the pod.
const stream = await opened.dial?.dial(uid as PodUid, { to: 'loopback', port: Number(port) }, { signal });
stream?.resume();
process.stdout.write('up\n');
