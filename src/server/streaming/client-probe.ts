/**
 * How often a client whose connection is not read is written to: that alone tells that it is gone. An API server in between passes
 * the news on only when it writes itself, so that it takes up to four writes. 10 s are promised.
 */
export const CLIENT_PROBE_MS = 2_000;
