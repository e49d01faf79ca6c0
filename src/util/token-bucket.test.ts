import { describe, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

function taken(bucket: TokenBucket, tries: number, nowMs: number): number {
  return Array.from({ length: tries }, () => bucket.tryTake(nowMs)).filter(Boolean).length;
}

describe('TokenBucket', () => {
  it('admits the burst at once, then as many as have flowed in', () => {
    const bucket = new TokenBucket(0, 5, 10);
    expect(taken(bucket, 20, 0)).toBe(10);
    expect(taken(bucket, 20, 1_000)).toBe(5);
    expect(taken(bucket, 20, 61_000)).toBe(10);
  });

  it('tells how long to wait', () => {
    const bucket = new TokenBucket(0, 5, 1);
    expect(bucket.waitMs(0)).toBe(0);
    bucket.tryTake(0);
    expect(bucket.waitMs(0)).toBe(200);
    expect(bucket.waitMs(150)).toBe(50);
  });

  it('admits everything at rate 0', () => {
    const bucket = new TokenBucket(0, 0, 0);
    expect(taken(bucket, 50, 0)).toBe(50);
    expect(bucket.waitMs(0)).toBe(0);
  });
});
