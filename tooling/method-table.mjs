/**
 * @file Writes out the methods of `Tensor`, name by name.
 *
 * The sources say which modules hold them (`methodsOf(MODULES)` in packages/tensor/src/tensor-methods.ts). A module taken as a whole
 * keeps in every page all that it exports, operators that only names reach among them, and costs a function per name. So the build writes the object that `methodsOf` would make.
 */
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

/** Exported functions of a module: what is exported, but for types and operators. */
function functionsOf(text, file) {
  const names = new Set();
  for (const statement of ts.createSourceFile(file, text, ts.ScriptTarget.Latest).statements) {
    if (ts.isExportDeclaration(statement) && !statement.isTypeOnly)
      for (const { name } of statement.exportClause.elements) names.add(name.text);
    const exported = ts
      .getModifiers(statement)
      ?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (exported !== true) continue;
    if (ts.isFunctionDeclaration(statement)) names.add(statement.name.text);
    else if (ts.isVariableStatement(statement))
      for (const { name, type } of statement.declarationList.declarations)
        if (!isOperator(type)) names.add(name.text);
  }
  return names;
}

/** Exports have their types written (`isolatedDeclarations`). */
function isOperator(type) {
  return type !== undefined && ts.isTypeReferenceNode(type) && type.typeName.text === 'OpOverload';
}

/** The elements of the list that a constant of the file is. */
function listed(source, name) {
  for (const statement of source.statements)
    if (ts.isVariableStatement(statement))
      for (const { name: declared, initializer } of statement.declarationList.declarations)
        if (declared.text === name) return initializer.elements;
  throw new Error(`${source.fileName}: no list ${name}`);
}

/**
 * The source with `methodsOf(…)` written out: of methods of one name the first counts.
 *
 * @param {string} text
 * @param {string} file
 * @param {(path: string) => string} read the text of a file
 */
export function writeMethods(text, file, read) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const modules = new Map();
  for (const statement of source.statements) {
    const bindings = ts.isImportDeclaration(statement) && statement.importClause?.namedBindings;
    if (bindings && ts.isNamespaceImport(bindings))
      modules.set(bindings.name.text, statement.moduleSpecifier.text);
  }
  let marked = text;
  const imports = [];
  const methods = new Map();
  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isCallExpression(node) && node.expression.getText() === 'methodsOf') {
      for (const { text: module } of listed(source, node.arguments[0].text)) {
        const path = modules.get(module);
        const target = resolve(dirname(file), path).replace(/\.js$/, '.ts');
        const fresh = [...functionsOf(read(target), target)].filter((name) => !methods.has(name));
        for (const name of fresh) methods.set(name, `${module}$${name}`);
        const names = fresh.map((name) => `${name} as ${methods.get(name)}`);
        if (names.length > 0) imports.push(`import { ${names.join(', ')} } from '${path}';`);
      }
      const fields = [...methods]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `${name}: ${value}`);
      const lines = '\n'.repeat(node.getText().split('\n').length - 1);
      marked = `${text.slice(0, node.getStart())}{ ${fields.join(', ')} }${lines}${text.slice(node.getEnd())}`;
    } else ts.forEachChild(node, visit);
  }
  visit(source);
  return methods.size === 0 ? text : `${marked}\n${imports.join(' ')}\n`;
}
