import { Counter, Histogram, type Registry } from 'prom-client';
import { IMAGE_BUCKETS } from './buckets.ts';

const MB = 1_000_000;
const GB = 1_000 * MB;
/** Upper bounds of the sizes by which pulls are told apart, as the kubelet names them (reference 14.2). */
const SIZES: readonly (readonly [bound: number, name: string])[] = [
  [10 * MB, '0-10MB'],
  [100 * MB, '10MB-100MB'],
  [500 * MB, '100MB-500MB'],
  [GB, '500MB-1GB'],
  [5 * GB, '1GB-5GB'],
  [10 * GB, '5GB-10GB'],
  [20 * GB, '10GB-20GB'],
  [30 * GB, '20GB-30GB'],
  [40 * GB, '30GB-40GB'],
  [60 * GB, '40GB-60GB'],
  [100 * GB, '60GB-100GB'],
];

function imageSizeName(bytes: number): string {
  return SIZES.find(([bound]) => bytes <= bound)?.[1] ?? 'GT100GB';
}

/** Pulls and what was asked of the image manager (reference 14.2, 14.3). */
export class ImageMetrics {
  readonly #pulls: Histogram<'image_size_in_bytes'>;
  readonly #requests: Counter<'pull_policy' | 'present_locally' | 'pull_required'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#pulls = new Histogram({
      name: 'kubelet_image_pull_duration_seconds',
      help: 'Duration in seconds to pull an image.',
      labelNames: ['image_size_in_bytes'],
      buckets: IMAGE_BUCKETS,
      registers,
    });
    this.#requests = new Counter({
      name: 'kubelet_image_manager_ensure_image_requests_total',
      help: 'Number of ensure-image requests processed by the kubelet.',
      labelNames: ['pull_policy', 'present_locally', 'pull_required'],
      registers,
    });
  }

  pulled(seconds: number, bytes: number): void {
    this.#pulls.observe({ image_size_in_bytes: imageSizeName(bytes) }, seconds);
  }

  /** `present` is unknown where the policy does not look, and where looking failed. */
  asked(policy: string, present: 'true' | 'false' | 'unknown', pull: 'true' | 'false' | 'unknown'): void {
    const labels = { present_locally: present, pull_required: pull };
    this.#requests.inc({ pull_policy: policy.toLowerCase(), ...labels });
  }
}
