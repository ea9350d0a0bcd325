import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { userFrame } from '../src/user-frame.js';

interface Site {
  getFileName(): string | null;
  toString(): string;
}
type Formatter = (error: Error, sites: readonly Site[]) => unknown;

const errors = Error as unknown as { prepareStackTrace?: Formatter };
const host = errors.prepareStackTrace;

beforeEach(() => void vi.spyOn(process, 'sourceMapsEnabled', 'get').mockReturnValue(false));
afterEach(() => {
  errors.prepareStackTrace = host;
  vi.restoreAllMocks();
});

const record = (): string | undefined => userFrame();

test('only the frame outside Tessera is written as text, once', () => {
  const written: string[] = [];
  errors.prepareStackTrace = (_, sites) => {
    written.push(...sites.map((site) => site.getFileName()!));
    return `Error: frame\n    at somewhere (/home/me/model.ts:3:4)`;
  };
  for (let i = 0; i < 3; i++) expect(record()).toBe('/home/me/model.ts:3:4 somewhere');
  expect(written).toEqual([expect.stringMatching(/shared\/test\/user-frame\.test\.ts$/)]);
});

test('a frame that the host knows to be of Tessera is passed over', () => {
  errors.prepareStackTrace = (_, sites) =>
    String(sites[0]).includes('record')
      ? '    at record (/x/node_modules/@tessera/tensor/src/tensor.ts:1:1)'
      : '    at main (/home/me/main.ts:9:9)';
  expect(record()).toBe('/home/me/main.ts:9:9 main');
});

test('without a formatter of the host, and with one that gives no text, V8 writes the frame', () => {
  errors.prepareStackTrace = undefined;
  expect(record()).toMatch(/shared\/test\/user-frame\.test\.ts:\d+:\d+ record$/);
  errors.prepareStackTrace = (_, sites) => sites;
  expect(record()).toMatch(/shared\/test\/user-frame\.test\.ts:\d+:\d+ record$/);
});

test('a host that maps whole stacks writes the whole', () => {
  vi.spyOn(process, 'sourceMapsEnabled', 'get').mockReturnValue(true);
  errors.prepareStackTrace = (_, sites) =>
    sites.length > 1 ? '    at f (/home/me/whole.ts:1:2)' : '    at g (/home/me/one.ts:1:2)';
  expect(record()).toBe('/home/me/whole.ts:1:2 f');
});
