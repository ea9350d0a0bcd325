/**
 * @file Opens an address in the browser of whoever sits there.
 */
import { spawn } from 'node:child_process';
import { platform } from 'node:process';

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Tries to; where there is no browser, the address that was printed is all there is. */
export function openBrowser(url: string): void {
  const [command = '', ...args] = COMMANDS[platform] ?? ['xdg-open'];
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
