import { type CallOptions, ProviderError } from '../contract/index.ts';
import type { SwapStep } from '../shared/atomic-layout.ts';
import type { Engine } from './engine.ts';

/**
 * An engine's archive API can write files but neither rename nor delete, and a sandbox image holds no tools. So the few
 * system calls that an atomic change needs are made by a program of some hundred bytes that travels with the new content and
 * is run in the sandbox. Its source is at the end of this file.
 *
 * Arguments are steps: `r FROM TO` (renameat), `s TARGET PATH` (symlinkat, an existing one is fine), `u PATH` (unlinkat),
 * `d PATH` (unlinkat, AT_REMOVEDIR). Failures of u and d are passed over; the exit code is the errno of a failed r or s.
 */
const CODE: Readonly<Record<string, { readonly machine: number; readonly base64: string }>> = {
  amd64: {
    machine: 62,
    base64:
      'SI1cJBBIiwNIhcB0WooISItzCID5cnQegPlzdCox0oD5ZHUCtgJqnF+4BwEAAA8FSIPDEOvPapxfSIn6TItTELgIAQAA6w9IifdqnF5Ii1MQuAoBAAAPBYXAeQWD+O91CEiDwxjrnjHA99iJx7g8AAAADwU=',
  },
  arm64: {
    machine: 183,
    base64:
      '80MAkWkCQPnJAwC0KQFAOWEGQPlgDICSP8kBcWABAFQ/zQFxoAEAVAIAgNI/kQFxQQAAVAJAgNJoBIDSAQAA1HNCAJHw//8X4gMAqmMKQPnIBIDSBQAAFOADAaphDICSYgpA+YgEgNIBAADUYAD4Nh9EADGBAABUc2IAkeL//xcAAIDS4AMAS6gLgNIBAADU',
  },
};

/** `arch` in Go's words, as the engine reports it. */
export function swapTool(arch: string): Uint8Array {
  const code = Object.hasOwn(CODE, arch) ? CODE[arch] : undefined;
  if (code === undefined) throw new ProviderError('Unsupported', `files cannot be changed in a live pod on ${arch}`);
  return elf(code.machine, Buffer.from(code.base64, 'base64'));
}

const LOAD_ADDRESS = 0x400000;
const HEADERS = 64 + 56;

/** The smallest static 64-bit little-endian executable: file header, one program header, code. */
function elf(machine: number, code: Buffer): Buffer {
  const file = Buffer.alloc(HEADERS);
  file.write('\u007fELF', 0, 'latin1');
  file.set([2, 1, 1], 4);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS + HEADERS), 24);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  const size = BigInt(HEADERS + code.length);
  file.writeUInt32LE(1, 64);
  file.writeUInt32LE(5, 68);
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 80);
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 88);
  file.writeBigUInt64LE(size, 96);
  file.writeBigUInt64LE(size, 104);
  file.writeBigUInt64LE(0x10000n, 112);
  return Buffer.concat([file, code]);
}

export function swapArguments(steps: readonly SwapStep[]): readonly string[] {
  return steps.flatMap(stepArguments);
}

function stepArguments(step: SwapStep): readonly string[] {
  switch (step.type) {
    case 'rename':
      return ['r', step.from, step.to];
    case 'symlink':
      return ['s', step.target, step.path];
    case 'unlink':
      return ['u', step.path];
    case 'rmdir':
      return ['d', step.path];
  }
}

export interface SwapRun {
  /** Path of the tool inside the sandbox. */
  readonly tool: string;
  readonly directory: string;
  readonly steps: readonly SwapStep[];
}

export async function runSwap(engine: Engine, sandboxId: string, run: SwapRun, options: CallOptions): Promise<void> {
  const { calls, docker } = engine;
  const exec = await calls.call('prepare a change of files', options, (abortSignal) =>
    docker.getContainer(sandboxId).exec({
      Cmd: [run.tool, ...swapArguments(run.steps)],
      WorkingDir: run.directory,
      User: '0:0',
      AttachStdout: true,
      AttachStderr: true,
      abortSignal,
    }),
  );
  const output = await calls.open('change files', options, () => exec.start({ Detach: false, Tty: false }));
  const words: Buffer[] = [];
  await calls.call('finish a change of files', options, async () => {
    for await (const chunk of output) words.push(chunk);
  });
  const { ExitCode } = await calls.call('learn how a change of files ended', options, () => exec.inspect());
  if (ExitCode === 0) return;
  const said = Buffer.concat(words).toString('utf8').trim();
  throw new ProviderError('Internal', `changing the files of a volume failed (errno ${ExitCode}) ${said}`.trim());
}

/*
  amd64                                    arm64
  _start: lea   rbx, [rsp+16]              _start: add  x19, sp, #16
  next:   mov   rax, [rbx]                 next:   ldr  x9, [x19]
          test  rax, rax                           cbz  x9, done
          jz    done                               ldrb w9, [x9]
          mov   cl, [rax]                          ldr  x1, [x19, #8]
          mov   rsi, [rbx+8]                       mov  x0, #-100
          cmp   cl, 'r'                            cmp  w9, #'r'
          je    rename                             b.eq rename
          cmp   cl, 's'                            cmp  w9, #'s'
          je    symlink                            b.eq symlink
          xor   edx, edx                           mov  x2, #0
          cmp   cl, 'd'                            cmp  w9, #'d'
          jne   unlink                             b.ne unlink
          mov   dh, 2                              mov  x2, #0x200
  unlink: push  -100                       unlink: mov  x8, #35
          pop   rdi                                svc  #0
          mov   eax, 263                           add  x19, x19, #16
          syscall                                  b    next
          add   rbx, 16                    rename: mov  x2, x0
          jmp   next                               ldr  x3, [x19, #16]
  rename: push  -100                               mov  x8, #38
          pop   rdi                                b    three
          mov   rdx, rdi                   symlink: mov x0, x1
          mov   r10, [rbx+16]                      mov  x1, #-100
          mov   eax, 264                           ldr  x2, [x19, #16]
          jmp   three                              mov  x8, #36
  symlink: mov  rdi, rsi                   three:  svc  #0
          push  -100                               tbz  w0, #31, ok
          pop   rsi                                cmn  w0, #17
          mov   rdx, [rbx+16]                      b.ne fail
          mov   eax, 266                   ok:     add  x19, x19, #24
  three:  syscall                                  b    next
          test  eax, eax                   done:   mov  x0, #0
          jns   ok                         fail:   neg  w0, w0
          cmp   eax, -17                           mov  x8, #93
          jne   fail                               svc  #0
  ok:     add   rbx, 24
          jmp   next
  done:   xor   eax, eax
  fail:   neg   eax
          mov   edi, eax
          mov   eax, 60
          syscall
*/
