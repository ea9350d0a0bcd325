/**
 * @file Runs the command until it has printed where the page is.
 */
import { spawn } from 'node:child_process';

/** A command that serves. */
export interface RunningCommand extends AsyncDisposable {
  readonly url: string;
}

/** Starts `node PROGRAM explore FOLDER --no-open`. */
export async function explore(program: string, folder: string): Promise<RunningCommand> {
  const child = spawn(process.execPath, [program, 'explore', folder, '--no-open']);
  let printed = '';
  const url = await new Promise<string>((ready, failed) => {
    const listen = (chunk: Buffer): void => {
      printed += String(chunk);
      const [found] = /http:\/\/127\.0\.0\.1:\d+\//.exec(printed) ?? [];
      if (found !== undefined) ready(found);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('exit', () => failed(new Error(`The command ended: ${printed}`)));
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill();
      await ended;
    },
  };
}
