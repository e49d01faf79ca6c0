/** Labels of one probe, as the kubelet's metrics have them (reference 4.10). The same object for the life of the probe. */
export interface ProbeLabels {
  /** `Liveness`, `Readiness` or `Startup`. */
  readonly probeType: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUid: string;
}

/** Told of every answer that counts; an errored probe gives none. */
export interface ProbeMetrics {
  /** `prober_probe_total`, and for a success also `prober_probe_duration_seconds` (not observed for failures). */
  answered(labels: ProbeLabels, result: 'successful' | 'failed', seconds: number): void;
  /** The probe is over: its series are deleted. */
  ended(labels: ProbeLabels): void;
}
