/**
 * @file A page under a content security policy: sets the options that `?case=` names, trains, and leaves in a global
 * what it computed, what the browser reported and how many workers run.
 */
import { compile, config } from '@tessera/compile';
import { DataLoader, Module } from '@tessera/nn';
import { ones } from '@tessera/tensor';
import { train } from '../train.js';

const violations = [];
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  violations.push(`${effectiveDirective} ${blockedURI}`),
);

let workers = 0;
const { Worker } = globalThis;
globalThis.Worker = class extends Worker {
  constructor(url, options) {
    super(url, options);
    workers++;
    this.addEventListener('error', () => workers--);
  }
};

/** The error of the first kernel, by its code. */
function refusal() {
  try {
    compile((x) => x.add(1))(ones([2]));
    return 'none';
  } catch ({ code, message }) {
    return `${code}: ${message.includes("'wasm-unsafe-eval'")}`;
  }
}

/** Samples decoded on threads whose script is this site's own. */
async function decodedSum(script) {
  const workers = { module: new URL('/decode.js', location.href), count: 1, script };
  const loader = new DataLoader([1, 2, 3, 4], { batchSize: 2, workers });
  let sum = 0;
  for await (const batch of loader) sum += batch.sum().item();
  return sum;
}

/** Attributes of a module that is an argument of a pure function are compared by generated code where a page allows that. */
class Scale extends Module {
  factor = 3;
  forward(x) {
    return x.mul(this.factor);
  }
}

function scaled(options) {
  const scale = new Scale();
  const compiled = compile((module, x) => module.call(x), options);
  const results = [];
  for (const factor of [3, 3, 5, 5]) {
    scale.factor = factor;
    results.push(compiled(scale, ones([])).item());
  }
  return results;
}

const cases = {
  async 'no eval'() {
    return { scaled: scaled() };
  },
  async 'no eval, pure'() {
    return { scaled: scaled({ pure: true }) };
  },
  async 'no eval, not asked'() {
    config.set({ 'trace.generateCode': false });
    return { scaled: scaled({ pure: true }) };
  },
  async 'no WebAssembly'() {
    config.set({ 'trace.generateCode': false });
    const refused = [refusal(), refusal()];
    config.set({ 'cpu.kernels': 'reference' });
    return { refused };
  },
  async 'own workers'() {
    const policy = trustedTypes.createPolicy('page', { createScriptURL: (url) => url });
    const workerUrl = policy.createScriptURL('/worker.js');
    config.set({ 'trace.generateCode': false, 'cpu.workerUrl': workerUrl, 'cpu.threads': 2 });
    const square = compile((x) => x.mm(x).mean());
    const x = ones([512, 512]);
    for (let i = 0; i < 20; i++) square(x).item();
    return { decoded: await decodedSum(policy.createScriptURL('/data-worker.js')) };
  },
};

async function main() {
  const chosen = new URLSearchParams(location.search).get('case');
  const seen = await cases[chosen]();
  const digits = new Uint8Array(await (await fetch('/digits.safetensors')).arrayBuffer());
  const losses = { page: await train(digits) };
  // Reports and errors of workers arrive as events.
  await new Promise((done) => setTimeout(done, 300));
  return { losses, seen: { ...seen, violations, workers } };
}

main().then(
  (result) => (globalThis.consumerResult = result),
  (error) => (globalThis.consumerResult = { error: String(error?.stack ?? error) }),
);
