import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import { TokenBucket } from './token-bucket.ts';

function taken(bucket: TokenBucket, tries: number): number {
  return Array.from({ length: tries }, () => bucket.tryTake()).filter(Boolean).length;
}

describe('TokenBucket', () => {
  it('admits the burst at once, then as many as have flowed in', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket(clock, 5, 10);
    expect(taken(bucket, 20)).toBe(10);
    await clock.advance(1_000);
    expect(taken(bucket, 20)).toBe(5);
    await clock.advance(60_000);
    expect(taken(bucket, 20)).toBe(10);
  });

  it('admits everything at rate 0', () => {
    expect(taken(new TokenBucket(new FakeClock(), 0, 0), 50)).toBe(50);
  });
});
