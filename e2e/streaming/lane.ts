/** How kubectl talks to the kubelet: translated by the API server, passed through as WebSocket, or SPDY all the way. */
export type Lane = 'T' | 'W' | 'R';

/** Environment of a kubectl that takes this way; between T and W the API server decides. */
export function laneEnv(lane: Lane): NodeJS.ProcessEnv {
  const sockets = lane === 'R' ? 'false' : 'true';
  return { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: sockets, KUBECTL_PORT_FORWARD_WEBSOCKETS: sockets };
}

/** The port of this machine in what `kubectl port-forward` says first. */
export function localPort(line: unknown): number | undefined {
  const port = /:(\d+) ->/.exec(String(line))?.[1];
  return port === undefined ? undefined : Number(port);
}
