import { z } from 'zod';
import { dockerSchema } from '../../../providers/docker/schema.ts';
import { runCli } from '../../cli.ts';
import { loadConfig } from '../../config/load.ts';
import { kubeletSchema, outriggerSchema } from '../../config/schema.ts';
import { type Blocks, table } from './document.ts';
import { KUBELET_NOTES, OUTRIGGER_NOTES } from './field-notes.ts';

/** The parts of docs/configuration.md that the code decides. */
export async function configurationBlocks(): Promise<Blocks> {
  return {
    flags: table(['flag', 'value', 'meaning'], await flagRows()),
    kubelet: fieldTable(kubeletSchema, KUBELET_NOTES),
    outrigger: fieldTable(outriggerSchema, OUTRIGGER_NOTES),
    docker: table(['field', 'value', 'default', 'meaning'], dockerRows()),
    effective: `\`\`\`json\n${await effectiveConfig()}\n\`\`\``,
  };
}

/** The options of `outrigger run --help`. */
async function flagRows(): Promise<string[][]> {
  let help = '';
  const nothing = async (): Promise<never> => {
    throw new Error('only help was asked for');
  };
  await runCli(['run', '--help'], {
    version: '',
    load: nothing,
    checkProviders: nothing,
    run: nothing,
    out: (text) => {
      help += text;
    },
    err: () => {},
  });
  const [, options = ''] = help.split('Options:\n');
  // A continuation line is indented further than an option: its words belong to the one before.
  const entries = options.replaceAll(/\n {3,}/g, ' ').split('\n');
  return entries.flatMap((entry) => {
    const [, flag = '', value = '', meaning = ''] =
      /^ {2}((?:-\w, )?--[\w-]+)(?: ([<[]\S+[>\]]))? +(\S.*)$/.exec(entry) ?? [];
    if (flag === '' || flag.includes('--help')) return [];
    return [[code(flag), value === '' ? '' : code(value.replaceAll(/[<>]/g, '')), sentence(meaning)]];
  });
}

function fieldTable(schema: z.ZodObject, notes: Readonly<Record<string, string>>): string {
  const fields = leaves('', schema);
  const unknown = Object.keys(notes).find((path) => !fields.some((field) => field.path === path));
  if (unknown !== undefined) throw new Error(`field-notes.ts describes ${unknown}, which the schema does not have`);
  const rows = fields.map(({ path, schema: leaf }) => {
    const note = notes[path];
    if (note === undefined) throw new Error(`field-notes.ts does not describe ${path}`);
    return [code(path), takes(leaf), note];
  });
  return table(['field', 'value', 'meaning'], rows);
}

interface Leaf {
  readonly path: string;
  readonly schema: z.core.$ZodType;
}

function leaves(path: string, schema: z.core.$ZodType): readonly Leaf[] {
  if (schema instanceof z.ZodOptional) return leaves(path, schema.unwrap());
  if (schema instanceof z.ZodObject) {
    return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) =>
      leaves(path === '' ? name : `${path}.${name}`, field),
    );
  }
  const { element } = schema instanceof z.ZodArray ? schema : {};
  return element instanceof z.ZodObject ? leaves(`${path}[]`, element) : [{ path, schema }];
}

/** In the words in which a wrong value is refused. */
function takes(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodArray) return `list: each ${takes(schema.element)}`;
  const issue = refusal(schema, Symbol('nothing that anybody would accept'));
  if (issue?.code !== 'invalid_type') return words(issue);
  if (issue.expected === 'string') return words(refusal(schema, '§'));
  return issue.expected === 'boolean' ? 'true or false' : 'mapping';
}

function refusal(schema: z.core.$ZodType, value: unknown): z.core.$ZodIssue | undefined {
  return z.safeParse(schema, value).error?.issues[0];
}

function words(issue: z.core.$ZodIssue | undefined): string {
  return issue === undefined ? 'text' : issue.message.replace(/^must be (a |an |one )?/, '');
}

function dockerRows(path = '', schema: z.core.JSONSchema.BaseSchema = dockerJson()): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    if (typeof field === 'boolean') return [];
    const full = path === '' ? name : `${path}.${name}`;
    if (field.type === 'object') return dockerRows(full, field);
    const preset = field.default === undefined ? '' : code(String(field.default));
    return [[code(full), jsonType(field), preset, sentence(field.description ?? '')]];
  });
}

function dockerJson(): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(dockerSchema, { io: 'input' });
}

function jsonType({ type, pattern, minimum, exclusiveMinimum, maximum, anyOf }: z.core.JSONSchema.BaseSchema): string {
  if (anyOf !== undefined) return 'IP address';
  if (pattern !== undefined) return `text that matches ${code(pattern)}`;
  if (type === 'string') return 'text';
  const whole = type === 'integer' ? 'whole number' : 'number';
  if (exclusiveMinimum !== undefined) return `${whole} above ${exclusiveMinimum}`;
  // Zod writes the largest safe integer where the schema sets no maximum.
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  return bounded ? `${whole} from ${minimum} to ${maximum}` : `${whole}, ${minimum} or more`;
}

async function effectiveConfig(): Promise<string> {
  const config = await loadConfig(
    { 'self-signed-serving-certificate': 'true' }, // one of the three has to be said
    {
      readFile: async (path) => {
        throw new Error(`nothing names a file, and ${path} was read`);
      },
      hostname: 'my-host',
      cwd: '/',
    },
  );
  return JSON.stringify(config, undefined, 2);
}

function code(text: string): string {
  return `\`${text}\``;
}

function sentence(text: string): string {
  if (text === '') return '';
  // A field name at the beginning stays as it is written.
  const start = /^[a-z]+\./.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return `${start}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
