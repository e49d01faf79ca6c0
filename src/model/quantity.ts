/**
 * Kubernetes quantities ("100m", "1.5Gi", "2e3"), exact: the value is counted in billionths, the finest step the API knows.
 * Finer fractions are rounded away from zero, as the API server does.
 */
export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

/** How a quantity was written decides how a sum that starts with it is printed. */
type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

const NANO = 1_000_000_000n;
const SYNTAX = /^([+-]?)(\d*)(?:\.(\d*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)|[eE]([+-]?\d{1,3}))?$/;
const BINARY: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
/** Suffix for each power of 1000, starting at 10⁻⁹. */
const DECIMAL: readonly string[] = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];

export function parseQuantity(text: string): Quantity {
  const match = SYNTAX.exec(text);
  const [, sign = '', whole = '', fraction = '', suffix, exponent] = match ?? [];
  if (match === null || whole + fraction === '') throw new Error(`not a quantity: ${JSON.stringify(text)}`);
  let numerator = BigInt(whole + fraction) * NANO;
  let denominator = 10n ** BigInt(fraction.length);
  if (exponent !== undefined) {
    const power = Number(exponent);
    if (power >= 0) numerator *= 10n ** BigInt(power);
    else denominator *= 10n ** BigInt(-power);
  } else if (suffix?.endsWith('i') === true) {
    numerator *= 1024n ** BigInt(BINARY.indexOf(suffix));
  } else if (suffix !== undefined) {
    const power = DECIMAL.indexOf(suffix) - 3;
    if (power >= 0) numerator *= 1000n ** BigInt(power);
    else denominator *= 1000n ** BigInt(-power);
  }
  const nano = ceilDivide(numerator, denominator);
  return {
    nano: sign === '-' ? -nano : nano,
    format: exponent !== undefined ? 'DecimalExponent' : suffix?.endsWith('i') === true ? 'BinarySI' : 'DecimalSI',
  };
}

/** The canonical form that the API server prints: no fraction, the largest suffix that leaves none. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  // Below 1024 a binary quantity prints as a decimal one (1000 bytes are "1k"); so does one that is not a whole number.
  const binary = format === 'BinarySI' && nano % NANO === 0n && (nano >= 1024n * NANO || nano <= -1024n * NANO);
  if (binary) {
    const [mantissa, power] = shrink(nano / NANO, 1024n, BINARY.length - 1);
    return `${mantissa}${BINARY[power]}`;
  }
  if (format === 'DecimalExponent') {
    const [mantissa, power] = shrink(nano, 1000n, Number.MAX_SAFE_INTEGER);
    return power === 3 ? String(mantissa) : `${mantissa}e${(power - 3) * 3}`;
  }
  const [mantissa, power] = shrink(nano, 1000n, DECIMAL.length - 1);
  return `${mantissa}${DECIMAL[power]}`;
}

/** A sum keeps the format of its first part that is not zero, as the API's own arithmetic does. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

/** Thousandths, rounded up: "100m" is 100, "2" is 2000. */
export function quantityToMilli(text: string): number {
  return milliOf(parseQuantity(text));
}

/** Whole units, rounded up: bytes of memory and storage, counts of pods and devices. */
export function quantityToBytes(text: string): number {
  return wholeOf(parseQuantity(text));
}

export function milliOf({ nano }: Quantity): number {
  return toSafe(ceilDivide(nano, 1_000_000n));
}

export function wholeOf({ nano }: Quantity): number {
  return toSafe(ceilDivide(nano, NANO));
}

/** Bytes as the kubelet prints memory and storage: "32814564Ki", "4Gi". */
export function formatBytes(bytes: number): string {
  return formatQuantity({ nano: BigInt(Math.trunc(bytes)) * NANO, format: 'BinarySI' });
}

/** Thousandths as the kubelet prints CPU: "100m", "8". */
export function formatMilli(milli: number): string {
  return formatQuantity({ nano: BigInt(Math.trunc(milli)) * 1_000_000n, format: 'DecimalSI' });
}

function shrink(value: bigint, base: bigint, maxPower: number): [bigint, number] {
  let [mantissa, power] = [value, 0];
  while (power < maxPower && mantissa % base === 0n) {
    mantissa /= base;
    power++;
  }
  return [mantissa, power];
}

/** Rounds up for positive values and towards zero for negative ones, which is "up" on the number line. */
function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  return numerator > 0n && numerator % denominator !== 0n ? quotient + 1n : quotient;
}

/** A quantity beyond 2⁵³ (8 PiB, if bytes) means "more than there is" everywhere, so it may be cut there. */
function toSafe(value: bigint): number {
  const max = BigInt(Number.MAX_SAFE_INTEGER);
  return Number(value > max ? max : value < -max ? -max : value);
}
