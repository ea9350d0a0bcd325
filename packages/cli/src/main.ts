#!/usr/bin/env node
/**
 * @file `npx @tessera/cli`: reads its arguments, serves the folder, opens the page, and runs until it is interrupted.
 */
import process from 'node:process';
import { isTesseraError } from '@tessera/shared';
import { openDebugFolder } from './debug-folder.js';
import { openBrowser } from './open-browser.js';
import { USAGE, readArguments } from './read-arguments.js';
import { serveDebugFolder } from './serve-debug-folder.js';

try {
  const given = readArguments(process.argv.slice(2));
  if (given === null) {
    console.log(USAGE);
  } else {
    const folder = openDebugFolder(given.folder);
    const server = await serveDebugFolder(folder, { port: given.port });
    console.log(`${folder.compilations.length} compilation(s) at ${server.url}`);
    console.log('Ctrl+C ends it.');
    if (given.open) openBrowser(server.url);
  }
} catch (error) {
  // What went wrong is in the message; where in this program does not help.
  console.error(isTesseraError(error) ? error.message : error);
  process.exitCode = 1;
}
