/**
 * @file A fresh process of this program that does one thing and answers its parent.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TesseraError } from '@tessera/shared';

/** Starts the program with `args` and waits for its answer. @throws invalid-argument when it ends without one */
export function startChild<T>(args: readonly string[]): Promise<T> {
  return new Promise((done, fail) => {
    const child = fork(fileURLToPath(import.meta.url), [...args], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    let answer: { readonly value: T } | null = null;
    child.on('message', (value) => (answer = { value: value as T }));
    child.on('close', (code) => {
      if (answer !== null) done(answer.value);
      else
        fail(
          new TesseraError(
            'invalid-argument',
            `A process of the benchmark ended with ${code} before it answered.`,
            { hints: [`Run it by itself: node ${args.join(' ')}`] },
          ),
        );
    });
  });
}
