/**
 * @file What the modules of a package import of another package, its built file imports once.
 *
 * esbuild writes the imports of every module that it joins, each name under a number of its own: `TesseraError21`. An
 * engine looks a name of a module up in the list of all of them, from its beginning, whenever it compiles a function
 * that uses it, and in a first call nearly every function is compiled.
 */
import ts from 'typescript';

const PACKAGES = /^@tessera\//;

const NAMESPACE = 'one-import';

/**
 * A plugin of esbuild. What a package imports of another is a module of the bundle between them, which is nothing but
 * the import: for packages of one file, as files that share it would have to export all of it to each other. A package
 * that a module imports as a whole (`import * as core`) is left as it is.
 *
 * @param {readonly string[]} sources texts of the package's files
 */
export function oneImport(sources) {
  /** @type {Map<string, Set<string> | null>} */
  const imported = new Map();
  for (const text of sources) addImports(imported, text);
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter: PACKAGES }, ({ path, kind, namespace }) =>
        kind === 'import-statement' && namespace !== NAMESPACE && imported.get(path)
          ? { path, namespace: NAMESPACE, sideEffects: false }
          : { path, external: true },
      );
      build.onLoad({ filter: PACKAGES, namespace: NAMESPACE }, ({ path }) => ({
        contents: `export { ${[...imported.get(path)].sort().join(', ')} } from '${path}';`,
      }));
    },
  };
}

/**
 * Notes the values that a source imports or exports of other packages; null for a package that it imports as a whole.
 *
 * @param {Map<string, Set<string> | null>} imported
 * @param {string} text
 */
function addImports(imported, text) {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest);
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
    const from = statement.moduleSpecifier?.text;
    const clause = ts.isImportDeclaration(statement) ? statement.importClause : statement;
    if (from === undefined || clause?.isTypeOnly) continue;
    const names = namesIn(statement);
    const known = imported.get(from);
    if (names === undefined || known === null) imported.set(from, null);
    else imported.set(from, new Set([...(known ?? []), ...names]));
  }
}

/** Names of values in braces; undefined where there is something else. */
function namesIn(statement) {
  const { elements } = ts.isImportDeclaration(statement)
    ? ((statement.importClause?.name ? undefined : statement.importClause?.namedBindings) ?? {})
    : (statement.exportClause ?? {});
  return elements
    ?.filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ propertyName, name }) => (propertyName ?? name).text);
}
