import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expand } from './expand.ts';

const VALUES = new Map([
  ['VAR_A', 'A'],
  ['VAR_B', 'B'],
  ['EMPTY', ''],
  ['REF', '$(VAR_A)'],
  ['MONEY', '$$'],
]);
const lookup = (name: string): string | undefined => VALUES.get(name);

// Cases of k8s.io/kubernetes/third_party/forked/golang/expansion/expand_test.go.
describe('variable expansion', () => {
  it.each([
    ['$(VAR_A)', 'A'],
    ['___$(VAR_B)___', '___B___'],
    ['$(VAR_A)$(VAR_B)', 'AB'],
    ['a$(EMPTY)b', 'ab'],
    ['$(UNKNOWN)', '$(UNKNOWN)'],
    ['$()', '$()'],
    ['$$(VAR_A)', '$(VAR_A)'],
    ['$$$(VAR_A)', '$A'],
    ['$$$$(VAR_A)', '$$(VAR_A)'],
    ['$$$$$$$(VAR_A)', '$$$A'],
    ['foo$$', 'foo$'],
    ['$', '$'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's form, which must stay as it is
    ['$VAR_A ${VAR_B}', '$VAR_A ${VAR_B}'],
    ['$(VAR_A', '$(VAR_A'],
    ['$(VAR_A $$ $(', '$(VAR_A $ $('],
    ['$(VAR_A) $(VAR_B', 'A $(VAR_B'],
    ['$($(VAR_A)', '$($(VAR_A)'],
    ['$($$(VAR_A)', '$($$(VAR_A)'],
    ['\n$(VAR_A)', '\nA'],
  ])('turns %j into %j', (text, expected) => {
    expect(expand(text, lookup)).toBe(expected);
  });

  it('does not expand what it has put in', () => {
    expect(expand('$(REF)$(MONEY)', lookup)).toBe('$(VAR_A)$$');
  });

  it('equals the state machine of the kubelet on any text', () => {
    const piece = fc.constantFrom('$', '(', ')', 'VAR_A', 'VAR_B', 'EMPTY', 'x', ' ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        expect(expand(text, lookup)).toBe(expandAsInGo(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives back any text whose dollars are doubled', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(expand(text.replaceAll('$', '$$$$'), lookup)).toBe(text);
      }),
    );
  });

  it('takes linear time for a long run of open references', () => {
    const text = '$('.repeat(500_000);
    expect(expand(text, lookup)).toBe(text);
  });
});

/** Transcription of expansion.Expand and tryReadVariableName. */
function expandAsInGo(input: string): string {
  let out = '';
  let checkpoint = 0;
  for (let cursor = 0; cursor < input.length; cursor++) {
    if (input[cursor] !== '$' || cursor + 1 >= input.length) continue;
    out += input.slice(checkpoint, cursor);
    const rest = input.slice(cursor + 1);
    let [read, isVar, advance] = [`$${rest[0]}`, false, 1];
    if (rest[0] === '$') read = '$';
    else if (rest[0] === '(') {
      const close = rest.indexOf(')', 1);
      if (close === -1) read = '$(';
      else [read, isVar, advance] = [rest.slice(1, close), true, close + 1];
    }
    out += isVar ? (lookup(read) ?? `$(${read})`) : read;
    cursor += advance;
    checkpoint = cursor + 1;
  }
  return out + input.slice(checkpoint);
}
