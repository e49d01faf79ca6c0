/** Prometheus' text format: the kubelet's pages know protobuf too; whoever accepts that accepts text (reference 11.2). */
export const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';
