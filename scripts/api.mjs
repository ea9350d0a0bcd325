/**
 * @file `pnpm api` writes what each package's entries export to `docs/api/`, a line for each name, so that a change of
 * the public surface is seen where it is reviewed. `--check` fails where these files are not what the sources say,
 * where a name or a member of `Tensor` has no doc comment, or where `@tessera/tensor` has grown beyond what a reader can take in.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isolatedDeclarationSync } from 'oxc-transform';
import ts from 'typescript';
import { members, root } from './workspace.mjs';

/** Most names that the main entry of `@tessera/tensor` may have. */
const MOST_NAMES = 450;
const folder = join(root, 'docs/api');

/** The declarations of a source, by file. */
const parsed = new Map();
function declarationsOf(file) {
  let source = parsed.get(file);
  if (source === undefined) {
    const { code } = isolatedDeclarationSync(file, readFileSync(file, 'utf8'), {
      stripInternal: true,
    });
    source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
    parsed.set(file, source);
  }
  return source;
}

const printer = ts.createPrinter({ removeComments: true });
const oneLine = (text) => text.replace(/\s+/g, ' ').trim();

/** The first sentence of the doc comment of a declaration, or null. */
function docOf(node) {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = doc === undefined ? '' : (ts.getTextOfJSDocComment(doc.comment) ?? '');
  const tags = doc?.tags?.length ?? 0;
  return text === '' && tags === 0 ? null : text;
}

/** The public members of a class or interface, a line each. */
function memberLines(node, source) {
  const isPrivate = (member) =>
    (ts.getCombinedModifierFlags(member) &
      (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !==
      0 ||
    (member.name !== undefined && ts.isPrivateIdentifier(member.name));
  return node.members
    .filter((member) => !isPrivate(member))
    .map((member) => oneLine(printer.printNode(ts.EmitHint.Unspecified, member, source)));
}

/** One export: its line, those of its members, and whether it is documented. */
function describe(name, node, source) {
  const documented = docOf(ts.isVariableDeclaration(node) ? node.parent.parent : node) !== null;
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
    const heritage = (node.heritageClauses ?? []).map((clause) => ` ${clause.getText(source)}`);
    const types = node.typeParameters?.map((type) => type.getText(source)).join(', ');
    const keyword = ts.isClassDeclaration(node) ? 'class' : 'interface';
    const head = `${keyword} ${name}${types === undefined ? '' : `<${types}>`}${heritage.join('')}`;
    return { name, line: oneLine(head), members: memberLines(node, source), documented };
  }
  const text = ts.isVariableDeclaration(node)
    ? `const ${printer.printNode(ts.EmitHint.Unspecified, node, source)}`
    : printer
        .printNode(ts.EmitHint.Unspecified, node, source)
        .replace(/^(?:export )?(?:declare )?/, '');
  return { name, line: oneLine(text).replace(/;$/, ''), members: [], documented };
}

/** What files export, once it is known. */
const exported = new Map();

/** What a file exports, by name: a description of each declaration. */
function exportsOf(file, seen = new Set()) {
  const known = exported.get(file);
  if (known !== undefined) return known;
  const found = new Map();
  if (seen.has(file)) return found;
  // Inside of a cycle of files less is seen than the file exports.
  const whole = seen.size === 0;
  seen.add(file);
  const source = declarationsOf(file);
  const add = (name, item) => {
    const before = found.get(name);
    if (before === undefined) found.set(name, [item]);
    else before.push(item);
  };
  /** Where names that a file imports come from. */
  const imports = new Map();
  const target = (node) => {
    const text = node.moduleSpecifier?.text;
    return text?.startsWith('.') ? resolve(dirname(file), text.replace(/\.js$/, '.ts')) : null;
  };
  const take = (from, name, as) => {
    const items = from === null ? undefined : exportsOf(from).get(name);
    for (const item of items ?? [
      { name: as, line: `${as} of another package`, members: [], documented: true },
    ])
      add(as, item);
  };
  for (const node of source.statements) {
    const isExported = (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Export) !== 0;
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      if (bindings === undefined) continue;
      if (ts.isNamespaceImport(bindings)) imports.set(bindings.name.text, [target(node), '*']);
      else
        for (const { name, propertyName } of bindings.elements)
          imports.set(name.text, [target(node), (propertyName ?? name).text]);
    } else if (ts.isExportDeclaration(node)) {
      const from = target(node);
      const clause = node.exportClause;
      if (clause === undefined)
        for (const [name, items] of from === null ? [] : exportsOf(from, seen))
          for (const item of items) add(name, item);
      else if (ts.isNamespaceExport(clause)) addNamespace(add, clause.name.text, from);
      else
        for (const { name, propertyName } of clause.elements) {
          const inner = (propertyName ?? name).text;
          const [where, what] =
            from === null ? (imports.get(inner) ?? [null, inner]) : [from, inner];
          if (what === '*') addNamespace(add, name.text, where);
          else take(where, what, name.text);
        }
    } else if (isExported && ts.isVariableStatement(node)) {
      for (const item of node.declarationList.declarations)
        if (ts.isIdentifier(item.name)) add(item.name.text, describe(item.name.text, item, source));
    } else if (isExported && node.name !== undefined) {
      add(node.name.text, describe(node.name.text, node, source));
    }
  }
  if (whole) exported.set(file, found);
  return found;
}

/** A namespace of exports (`functional`), its names as members. */
function addNamespace(add, name, from) {
  const inner = from === null ? [] : [...exportsOf(from)];
  add(name, {
    name,
    line: `namespace ${name}`,
    members: inner.flatMap(([, items]) => items.map(({ line }) => line)).sort(),
    documented: true,
  });
}

const pages = new Map();
const problems = [];
for (const { dir, manifest } of members()) {
  if (manifest.private === true || manifest.exports === undefined) continue;
  for (const [entry, conditions] of Object.entries(manifest.exports)) {
    const source = conditions['@tessera/source'];
    if (source === undefined || entry === './internal') continue;
    const name = entry === '.' ? manifest.name : `${manifest.name}/${entry.slice(2)}`;
    const found = exportsOf(join(root, dir, source));
    const lines = [];
    for (const key of [...found.keys()].sort()) {
      const items = found.get(key);
      for (const { line, members: inner } of items)
        lines.push(line, ...inner.map((member) => `  ${member}`));
      if (!items.some(({ documented }) => documented))
        problems.push(`${name}: ${key} has no doc comment`);
    }
    const page = `${name.replace('@tessera/', '').replaceAll('/', '-')}.txt`;
    pages.set(page, `${name}: ${found.size} names\n\n${lines.join('\n')}\n`);
    if (name === '@tessera/tensor' && found.size > MOST_NAMES)
      problems.push(
        `${name} exports ${found.size} names; more than ${MOST_NAMES} are too many to read`,
      );
  }
}

/** Members of `Tensor` that an editor shows no text for. Methods have that of the functions they are. */
function undocumentedMembers() {
  const file = join(root, 'packages/tensor/src/index.ts');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  const symbol = checker.getSymbolAtLocation(/** @type {ts.Node} */ (program.getSourceFile(file)));
  const names = checker.getExportsOfModule(/** @type {ts.Symbol} */ (symbol));
  const named = names.find(({ name }) => name === 'Tensor');
  const tensor = checker.getDeclaredTypeOfSymbol(/** @type {ts.Symbol} */ (named));
  return checker
    .getPropertiesOfType(tensor)
    .filter(
      (member) =>
        member.getDocumentationComment(checker).length === 0 &&
        member.getJsDocTags(checker).length === 0,
    )
    .map(({ name }) => name);
}

if (process.argv.includes('--check')) {
  for (const name of undocumentedMembers())
    problems.push(`@tessera/tensor: Tensor.${name} has no doc comment`);
  const present = new Set(readdirSync(folder));
  for (const [page, text] of pages)
    if (!present.delete(page) || readFileSync(join(folder, page), 'utf8') !== text)
      problems.push(`docs/api/${page} is not what the sources export: run pnpm api`);
  for (const page of present) problems.push(`docs/api/${page}: no such entry`);
} else {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [page, text] of pages) writeFileSync(join(folder, page), text);
  for (const text of pages.values()) console.log(text.slice(0, text.indexOf('\n')));
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
