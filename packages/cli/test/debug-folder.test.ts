/**
 * @file Debug folders from anybody: what is wrong is said, and nothing outside of the folder is read or served.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, config } from '@tessera/compile';
import { type Tensor, ones } from '@tessera/tensor';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDebugFolder, readExploration, serveDebugFolder } from '../src/index.js';
import { readArguments } from '../src/read-arguments.js';

let scratch = '';
let folder = '';
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'tessera-cli-'));
  folder = join(scratch, 'debug');
  config.patch({ debugDir: folder }, () => compile((x: Tensor) => x.mul(2).relu())(ones([3])));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const refusal = (message: RegExp): object =>
  expect.objectContaining({
    code: 'debug-folder-invalid',
    message: expect.stringMatching(message),
  });

/** The first compilation's file, as data that can be changed. */
const written = (): Record<string, unknown> =>
  JSON.parse(JSON.stringify(openDebugFolder(folder).compilations[0]!.read())) as Record<
    string,
    unknown
  >;

describe('openDebugFolder', () => {
  it('opens what TESSERA_DEBUG_DIR named, or the folder of one compilation', () => {
    const [only, ...rest] = openDebugFolder(folder).compilations;
    expect(rest).toEqual([]);
    const inner = openDebugFolder(join(folder, only!.name)).compilations;
    expect(inner.map(({ name }) => name)).toEqual([only!.name]);
    expect(inner[0]!.read()).toEqual(only!.read());
    expect(only!.read().program).toContain('x.mul(2).relu()');
  });

  it('says what is missing', () => {
    expect(() => openDebugFolder(join(scratch, 'nowhere'))).toThrow(
      refusal(/no folder '.*nowhere'/),
    );
    expect(() => openDebugFolder(scratch)).toThrow(refusal(/has a file exploration\.json/));
  });

  it('follows no link out of the folder', () => {
    const outside = join(scratch, 'outside.json');
    writeFileSync(outside, '{}');
    mkdirSync(join(folder, 'linked'));
    symlinkSync(outside, join(folder, 'linked', 'exploration.json'));
    const linked = openDebugFolder(folder).compilations.find(({ name }) => name === 'linked')!;
    expect(() => linked.read()).toThrow(refusal(/leads out of the folder/));
  });
});

describe('readExploration', () => {
  it('names the field that is not what it should be', () => {
    const cases: readonly [Record<string, unknown>, RegExp][] = [
      [{ version: 2 }, /version should be 1/],
      [{ format: 'other' }, /format should be "tessera-exploration"/],
      [
        { timeline: [{ name: 'x', category: 'c', start: -1, duration: 0 }] },
        /timeline\[0\]\.start/,
      ],
      [{ functions: [null] }, /functions\[0\] should be an object/],
      [{ program: 7 }, /program should be a string/],
      [{ joint: { length: 1 } }, /joint should be an array/],
    ];
    for (const [change, message] of cases)
      expect(() => readExploration(JSON.stringify({ ...written(), ...change }))).toThrow(
        refusal(message),
      );
    expect(() => readExploration('{')).toThrow(refusal(/JSON/));
    expect(() => readExploration('[]')).toThrow(refusal(/an object/));
  });

  it('refuses graphs with nodes that are not there', () => {
    const node = { name: 'a', label: '', value: '', inputs: ['b'], line: null, module: '' };
    const graph = { title: '', lines: [], nodes: [node] };
    const file = { ...written(), captured: [graph] };
    expect(() => readExploration(JSON.stringify(file))).toThrow(refusal(/reads 'b'/));
  });

  it('reads files that were written before there were schedules', () => {
    const { compiled, ...rest } = readExploration(JSON.stringify(written()));
    const [{ kernels }] = compiled as [(typeof compiled)[number]];
    expect(kernels[0]!.schedules).toEqual([
      { language: 'wasm', text: expect.stringMatching(/^scheduled fused_mul_relu/) },
    ]);
    const before = compiled.map((graph) => ({
      ...graph,
      kernels: graph.kernels.map(({ schedules: _, ...kernel }) => kernel),
    }));
    const read = readExploration(JSON.stringify({ ...rest, compiled: before }));
    expect(read.compiled[0]!.kernels[0]!.schedules).toEqual([]);
  });

  it('keeps no field that it does not know', () => {
    const read = readExploration(JSON.stringify({ ...written(), extra: 1 }));
    expect(read).not.toHaveProperty('extra');
  });
});

describe('serveDebugFolder', () => {
  /** Asks with an address and a name of the host as they are, which `fetch` would tidy. */
  function ask(
    url: string,
    path: string,
    host?: string,
  ): Promise<{ status: number; body: string }> {
    const { port } = new URL(url);
    return new Promise((answer, failed) => {
      const headers = host === undefined ? {} : { host };
      const asked = request({ host: '127.0.0.1', port, path, headers }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += String(chunk)));
        response.on('end', () => answer({ status: response.statusCode!, body }));
      });
      asked.on('error', failed).end();
    });
  }

  it('serves the page, the list and compilations, and no path of the machine', async () => {
    const page = join(scratch, 'page');
    mkdirSync(page);
    writeFileSync(join(page, 'index.html'), 'the page');
    writeFileSync(join(scratch, 'secret.txt'), 'secret');
    await using server = await serveDebugFolder(openDebugFolder(folder), { page });
    const { url } = server;
    expect(await ask(url, '/')).toEqual({ status: 200, body: 'the page' });
    const { compilations } = JSON.parse((await ask(url, '/folder.json')).body) as {
      compilations: string[];
    };
    expect(compilations).toHaveLength(1);
    expect((await ask(url, '/compilations/0.json')).status).toBe(200);
    for (const path of [
      '/compilations/1.json',
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '//etc/passwd',
    ])
      expect((await ask(url, path)).status, path).toBe(404);
    expect((await ask(url, '/folder.json', 'evil.example')).status).toBe(403);
    writeFileSync(join(folder, compilations[0]!, 'exploration.json'), '{}');
    const refused = await ask(url, '/compilations/0.json');
    expect(refused).toEqual({ status: 422, body: expect.stringContaining('format should be') });
  });

  it('says where the page is missing', async () => {
    const page = join(scratch, 'nowhere');
    await expect(serveDebugFolder(openDebugFolder(folder), { page })).rejects.toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});

describe('arguments', () => {
  it('are a folder and options; anything else shows the usage', () => {
    expect(readArguments(['explore', 'debug', '--port', '80', '--no-open'])).toEqual({
      folder: 'debug',
      port: 80,
      open: false,
    });
    expect(readArguments(['--help'])).toBeNull();
    for (const wrong of [['explore'], ['run', 'x'], ['explore', 'x', '--port', 'y'], ['--what']])
      expect(() => readArguments(wrong)).toThrow(/usage: npx @tessera\/cli/);
  });
});
