/**
 * @file Detects two copies of one package in the same program.
 *
 * Two copies of a package with identity-bearing classes (tensors, op registry) fail in strange ways:
 * `instanceof` is false, registrations are missing. Each such package registers itself when it is
 * loaded; the registry lives on `globalThis`, so copies see each other. The same module loaded again
 * (hot reload, a test runner that re-evaluates modules) is recognised by its URL and allowed.
 */
import { TesseraError } from './errors.js';

interface PackageCopy {
  readonly version: string;
  readonly url: string | undefined;
}

const REGISTRY: unique symbol = Symbol.for('tessera.packages');

/**
 * Records that a copy of `name` is loaded; pass `import.meta.url` so a reload can be told apart.
 *
 * @throws duplicate-package when another version, or the same version from another file, is loaded.
 */
export function registerPackageCopy(name: string, version: string, moduleUrl?: string): void {
  const holder = globalThis as { [REGISTRY]?: Map<string, PackageCopy> };
  const registry = (holder[REGISTRY] ??= new Map<string, PackageCopy>());
  const url = moduleUrl === undefined ? undefined : moduleUrl.replace(/[?#].*$/s, '');
  const first = registry.get(name);
  if (first !== undefined && !isSameCopy(first, { version, url })) {
    throw new TesseraError(
      'duplicate-package',
      `Two copies of ${name} are loaded in one program:\n` +
        `  ${describe(first)} (first)\n  ${describe({ version, url })} (now)`,
      {
        context: { name, first, second: { version, url } },
        hints: [
          `Make every dependency agree on one version (\`npm ls ${name}\` or \`pnpm why ${name}\` shows who asks for which), then run \`npm dedupe\` or \`pnpm dedupe\`.`,
          `In a bundler, map the name to one folder (Vite: \`resolve.dedupe: ['${name}']\`).`,
        ],
      },
    );
  }
  registry.set(name, { version, url });
}

function isSameCopy(a: PackageCopy, b: PackageCopy): boolean {
  return a.version === b.version && (a.url === b.url || a.url === undefined || b.url === undefined);
}

function describe(copy: PackageCopy): string {
  return `${copy.version} from ${copy.url ?? 'an unknown file'}`;
}
