/**
 * @file A page under strict content security policies: what works, with which options, and what is reported.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openPage, serveFolder } from './browser.mjs';
import { bundleWithEsbuild } from './bundlers.mjs';

/** Scripts of workers, by package. */
const WORKERS = { 'inductor-cpu': 'worker.js', nn: 'data-worker.js' };

/** The cases of `page/policy.js`: the policy, and what the page is to see. */
const cases = {
  // Functions that are replayed generate no code.
  'no eval': {
    policy: "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:",
    seen: { scaled: [3, 3, 5, 5], violations: [] },
  },
  // One report: whether code may be generated is tried once.
  'no eval, pure': {
    policy: "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:",
    seen: { scaled: [3, 3, 5, 5], violations: ['script-src eval'] },
  },
  'no eval, not asked': {
    policy: "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:",
    seen: { scaled: [3, 3, 5, 5], violations: [] },
  },
  // The error names the directive; one report for the first kernel and one for the smallest module.
  'no WebAssembly': {
    policy: "script-src 'self'; worker-src 'self' blob:",
    seen: {
      refused: ['webassembly-forbidden: true', 'webassembly-forbidden: true'],
      violations: ['script-src wasm-eval', 'script-src wasm-eval'],
    },
  },
  'own workers': {
    policy:
      "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types page",
    seen: { violations: [], decoded: 100, workers: 2 },
  },
};

/** Builds the page, with the scripts of workers beside it. */
async function buildPage({ tools, project, out }) {
  mkdirSync(out, { recursive: true });
  const warnings = await bundleWithEsbuild({ tools, project, out }, ['policy']);
  for (const [folder, file] of Object.entries(WORKERS))
    copyFileSync(join(project, 'node_modules/@tessera', folder, 'dist', file), join(out, file));
  writeFileSync(join(out, 'decode.js'), 'export default (n) => Float32Array.of(n * 10);');
  writeFileSync(join(out, 'index.html'), '<script type="module" src="/policy.js"></script>');
  return warnings;
}

/** Opens the page under each policy. @returns {Promise<import('./matrix.mjs').Outcome>} */
export async function trainUnderPolicies({ tools, project, chromium }) {
  const out = join(project, 'out/policies');
  const problems = await buildPage({ tools, project, out });
  /** @type {Record<string, number[]>} */
  const losses = {};
  for (const [name, { policy, seen }] of Object.entries(cases)) {
    const server = await serveFolder(out, join(project, 'digits.safetensors'), {
      'Content-Security-Policy': policy,
    });
    try {
      const url = `${server.url}?case=${encodeURIComponent(name)}`;
      const result = await openPage(url, tools, chromium, /Content Security Policy/);
      Object.assign(losses, { [name]: result.losses.page ?? [] });
      problems.push(...result.problems.map((problem) => `${name}: ${problem}`));
      for (const [key, value] of Object.entries(seen))
        if (!isDeepStrictEqual(result.seen[key], value))
          problems.push(
            `${name}: ${key} ${JSON.stringify(result.seen[key])}, not ${JSON.stringify(value)}`,
          );
    } finally {
      server.close();
    }
  }
  return { losses, problems };
}
