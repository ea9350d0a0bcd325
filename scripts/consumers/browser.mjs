/**
 * @file A built page, served and opened in Chromium: what it computed, and what the browser complained of.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** SwiftShader is no fast adapter, which Chromium says. */
const UNREMARKABLE = /WebGPU|adapter|powerPreference/i;

/** How long a page may take. */
const PATIENCE_MS = 120_000;

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript' };

/**
 * Serves a folder, as an isolated page, so that tensors live in memory that threads share. `headers` come on top.
 * @param {string} folder
 * @param {string} digits path of the data, served as `/digits.safetensors`
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serveFolder(folder, digits, headers = {}) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(String(request.url), 'http://page');
    const name = pathname === '/' ? 'index.html' : decodeURIComponent(pathname.slice(1));
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    for (const [key, value] of Object.entries(headers)) response.setHeader(key, value);
    try {
      const content = readFileSync(name === 'digits.safetensors' ? digits : join(folder, name));
      response.setHeader('Content-Type', TYPES[extname(name)] ?? 'application/octet-stream');
      response.end(content);
    } catch {
      response.writeHead(name === 'favicon.ico' ? 204 : 404).end();
    }
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}/`, close };
}

/** What a page left. Read through the debugger: playwright's own way is to evaluate strings in the page. */
async function resultOf(page) {
  const debugging = await page.context().newCDPSession(page);
  const expression = 'globalThis.consumerResult';
  for (const started = Date.now(); Date.now() - started < PATIENCE_MS;) {
    const { result } = await debugging.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
    });
    if (result.value !== undefined) return result.value;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error('The page left no result.');
}

/**
 * Opens a page and waits for what it leaves in `consumerResult`.
 *
 * @param {string} url
 * @param {string} tools folder in which playwright-core is installed
 * @param {string} executablePath of Chromium
 * @param {RegExp} expected messages of the browser that are no problem
 * @returns {Promise<{ losses: Record<string, number[]>, problems: string[], seen: Record<string, any> }>}
 */
export async function openPage(url, tools, executablePath, expected = UNREMARKABLE) {
  const entry = createRequire(join(tools, 'package.json')).resolve('playwright-core');
  const { chromium } = (await import(pathToFileURL(entry).href)).default;
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
  });
  try {
    const page = await browser.newPage();
    const problems = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      const isProblem = ['error', 'warning'].includes(message.type());
      if (isProblem && !expected.test(message.text())) problems.push(`console: ${message.text()}`);
    });
    await page.goto(url);
    const result = await resultOf(page);
    const { losses = {}, seen = {}, error } = result;
    if (error !== undefined) problems.push(error);
    return { losses, problems, seen };
  } catch (error) {
    return { losses: {}, problems: [String(error)], seen: {} };
  } finally {
    await browser.close();
  }
}
