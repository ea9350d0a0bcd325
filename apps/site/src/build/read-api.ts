/**
 * @file What the packages export, read from their sources and doc comments by TypeDoc.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Application, type DeclarationReflection } from 'typedoc';
import { namesIn, pathOf } from './repository-files.js';

/** An entry of a package: `@tessera/nn/optim`. */
export interface ApiModule {
  readonly name: string;
  /** What it exports, by name. */
  readonly exports: readonly DeclarationReflection[];
}

/** Sources of every public entry by its name. Entries called `internal` are for our packages only. */
function publicEntries(): Map<string, string> {
  const entries = new Map<string, string>();
  for (const folder of namesIn('packages')) {
    const file = pathOf(`packages/${folder}/package.json`);
    if (!existsSync(file)) continue;
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly name: string;
      readonly exports?: Readonly<Record<string, { readonly '@tessera/source'?: string }>>;
    };
    for (const [entry, conditions] of Object.entries(manifest.exports ?? {})) {
      const source = conditions['@tessera/source'];
      if (source === undefined || entry === './internal') continue;
      const name = manifest.name + entry.slice(1);
      entries.set(name, pathOf(`packages/${folder}/${source.slice(2)}`));
    }
  }
  return entries;
}

/** Every public entry of every package. */
export async function readApi(): Promise<ApiModule[]> {
  const entries = publicEntries();
  const modules: ApiModule[] = [];
  const app = await Application.bootstrap({
    entryPoints: [...entries.values()],
    tsconfig: pathOf('apps/site/tsconfig.api.json'),
    // `pnpm typecheck` says what is wrong with the sources.
    skipErrorChecking: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    disableSources: true,
    disableGit: true,
    readme: 'none',
    logLevel: 'Error',
  });
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc found nothing.');
  const byFile = new Map<string | undefined, DeclarationReflection>(
    (project.children ?? []).map((module) => [
      project.getSymbolIdFromReflection(module)?.fileName,
      module,
    ]),
  );
  for (const [name, file] of entries) {
    const module = byFile.get(file);
    if (module === undefined) throw new Error(`TypeDoc did not read ${name}.`);
    const exported = [...(module.children ?? [])].sort((a, b) => a.name.localeCompare(b.name));
    modules.push({ name, exports: exported });
  }
  return modules;
}
