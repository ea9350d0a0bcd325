/**
 * @file The example of the README runs.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { testReadme } from '../../../tooling/readme.js';
import * as tessera from '../src/index.js';

testReadme(new URL('../README.md', import.meta.url));

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const example = /## Ten lines\s+```ts\n(.*?)```/s.exec(readme)![1]!;

describe('the README', () => {
  it('has an example that trains', () => {
    const imported = /import \{(.*?)\} from '@tessera\/tensor';/s
      .exec(example)![1]!
      .split(',')
      .map((name) => name.trim());
    for (const name of imported) expect(tessera).toHaveProperty(name);
    const printed: unknown[] = [];
    const body = example.replace(/import .*?;\n/s, '').replaceAll('!,', ',');
    const run = new globalThis.Function(
      ...imported,
      'console',
      `${body}\nreturn linear(x, weight).logSoftmax(1).gather(1, labels).mean().neg().item();`,
    ) as (...args: unknown[]) => number;
    const loss = run(
      ...imported.map((name) => (tessera as unknown as Record<string, unknown>)[name]),
      { log: (value: unknown) => printed.push(value) },
    );
    expect(loss).toBeLessThan(1);
    expect(String(printed[0])).toMatch(/^tensor\(\[\[/);
  });
});
