import type { NetworkSpec } from '../../providers/contract/index.ts';

export type Resolver = NonNullable<NetworkSpec['dns']>;

/** A node's resolv.conf as the kubelet reads it (parseResolvConf, reference 10.8). Throws with its text. */
export function parseResolvConf(text: string): Resolver {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [word = '', ...values] = line.trim().split(/\s+/);
    const [first] = values;
    if (word === 'nameserver') {
      if (first === undefined)
        throw new Error('Encountered error while parsing resolv conf file. Error: nameserver list is empty ');
      servers.push(first);
    }
    // The last one wins; a domain with and without its dot is the same.
    if (word === 'search') searches = values.filter((value) => value !== '.').map((value) => value.replace(/\.$/, ''));
    if (word === 'options') for (const option of values) options.set(optionName(option), option);
  }
  return { servers, searches, options: [...options.values()] };
}

/** `ndots` of `ndots:5`. */
function optionName(option: string): string {
  return option.split(':')[0] ?? option;
}
