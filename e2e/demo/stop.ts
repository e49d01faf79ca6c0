// `npm stop`: ends what `npm start` started and waits until it is gone.
import { stopIdleEngine } from '../parts/dockerd.ts';
import { Progress } from '../parts/progress.ts';
import { isAlive } from '../parts/process.ts';
import { cleanDeadRuns } from '../parts/runs.ts';
import { waitFor } from '../parts/wait.ts';
import { demoOwner, giveUpDemo } from './state.ts';

const progress = new Progress();
const owner = demoOwner();
if (owner === undefined) {
  progress.say('nothing runs');
} else {
  progress.say('stopping …');
  process.kill(owner.pid, 'SIGTERM');
  const ended = await waitFor(() => !isAlive(owner), { what: 'the demo to end', timeoutMs: 60_000 }).catch(() => false);
  if (ended === false && isAlive(owner)) process.kill(owner.pid, 'SIGKILL');
}
// What a run left that could not clean up after itself, whether just now or long ago.
await cleanDeadRuns(progress);
await stopIdleEngine();
giveUpDemo();
progress.say('stopped');
