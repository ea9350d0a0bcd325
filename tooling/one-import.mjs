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
 * the import: for packages of one file, as files that share it would have to export all of it to each other.
 *
 * @param {readonly string[]} sources texts of the package's files
 */
export function oneImport(sources) {
  /** @type {Map<string, Set<string>>} */
  const imported = new Map();
  for (const text of sources) addImports(imported, text);
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter: PACKAGES }, ({ path, kind, namespace }) =>
        kind === 'import-statement' && namespace !== NAMESPACE
          ? { path, namespace: NAMESPACE, sideEffects: false }
          : { path, external: true },
      );
      build.onLoad({ filter: PACKAGES, namespace: NAMESPACE }, ({ path }) => ({
        contents: `export { ${[...(imported.get(path) ?? [])].sort().join(', ')} } from '${path}';`,
      }));
    },
  };
}

/**
 * Notes the values that a source imports or exports of other packages.
 *
 * @param {Map<string, Set<string>>} imported
 * @param {string} text
 */
function addImports(imported, text) {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest);
  for (const statement of source.statements) {
    const names = namesOf(statement);
    if (names === undefined) continue;
    const { text: from } = statement.moduleSpecifier;
    if (!PACKAGES.test(from)) continue;
    const known = imported.get(from) ?? new Set();
    imported.set(from, known);
    for (const { isTypeOnly, propertyName, name } of names)
      if (!isTypeOnly) known.add((propertyName ?? name).text);
  }
}

/** @param {ts.Statement} statement */
function namesOf(statement) {
  if (ts.isImportDeclaration(statement)) {
    if (statement.importClause?.isTypeOnly) return undefined;
    return statement.importClause?.namedBindings?.elements;
  }
  if (!ts.isExportDeclaration(statement) || statement.isTypeOnly) return undefined;
  if (statement.moduleSpecifier === undefined) return undefined;
  return statement.exportClause?.elements;
}
