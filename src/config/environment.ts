import { errorMessage, UsageError } from '../util/errors.ts';

/** What loading needs from outside; the process gives its own, tests theirs. */
export interface LoadEnvironment {
  readonly readFile: (path: string) => Promise<string>;
  readonly hostname: string;
  /** Where relative paths of flags start. */
  readonly cwd: string;
}

/** `name` is the flag or field that gave the path. */
export async function read(name: string, path: string, { readFile }: LoadEnvironment): Promise<string> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${name}: ${path} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

/** The kubelet's own files and flags write "" for "not given". */
export function given(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}
