import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addQuantities,
  formatBytes,
  formatMilli,
  formatQuantity,
  parseQuantity,
  quantityToBytes,
  quantityToMilli,
} from './quantity.ts';

describe('quantities', () => {
  it.each([
    ['0', 0, 0],
    ['1', 1000, 1],
    ['100m', 100, 1],
    ['0.1', 100, 1],
    ['.5', 500, 1],
    ['1.', 1000, 1],
    ['+2', 2000, 2],
    ['1n', 1, 1],
    ['1500u', 2, 1],
    ['2k', 2_000_000, 2000],
    ['1e3', 1_000_000, 1000],
    ['1E3', 1_000_000, 1000],
    ['15e-1', 1500, 2],
    ['64Mi', 67_108_864_000, 67_108_864],
    ['1.5Gi', 1_610_612_736_000, 1_610_612_736],
    ['1E', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['-1500m', -1500, -1],
  ])('%s is %d thousandths and %d whole units, rounded up', (text, milli, whole) => {
    expect(quantityToMilli(text)).toBe(milli);
    expect(quantityToBytes(text)).toBe(whole);
  });

  it.each(['', '.', '-', 'm', '1 Gi', '1gi', '0x1', '1e', '1e5Ki', 'Infinity', '1,5'])('refuses %j', (text) => {
    expect(() => parseQuantity(text)).toThrow('not a quantity');
  });

  // Canonical form: k8s.io/apimachinery resource.Quantity, CanonicalizeBytes.
  it.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1500', '1500'],
    ['1000', '1k'],
    ['1024Ki', '1Mi'],
    ['1.5Gi', '1536Mi'],
    ['500Ki', '500Ki'],
    ['1000000Ki', '1000000Ki'],
    ['0.5Ki', '512'],
    ['0Gi', '0'],
    ['128M', '128M'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['-2048', '-2048'],
    ['-2Ki', '-2Ki'],
  ])('prints %s as %s', (text, canonical) => {
    expect(formatQuantity(parseQuantity(text))).toBe(canonical);
  });

  it('prints what the kubelet reports for a host', () => {
    expect(formatMilli(8000)).toBe('8');
    expect(formatMilli(100)).toBe('100m');
    expect(formatBytes(33_602_113_536)).toBe('32814564Ki');
    expect(formatBytes(4 * 2 ** 30)).toBe('4Gi');
    expect(formatBytes(0)).toBe('0');
  });

  it('keeps the format of the first part of a sum that is not zero', () => {
    const sum = (a: string, b: string): string => formatQuantity(addQuantities(parseQuantity(a), parseQuantity(b)));
    expect(sum('64Mi', '64Mi')).toBe('128Mi');
    expect(sum('1Mi', '1k')).toBe('1049576');
    expect(sum('0', '2Ki')).toBe('2Ki');
  });

  it('gives back the same value from its own print', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 27n), max: 10n ** 27n }),
        fc.constantFrom('BinarySI', 'DecimalSI', 'DecimalExponent'),
        (nano, format) => {
          expect(parseQuantity(formatQuantity({ nano, format })).nano).toBe(nano);
        },
      ),
    );
  });
});
