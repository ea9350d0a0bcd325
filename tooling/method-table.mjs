/**
 * @file Writes out the methods of `Tensor`, name by name, and the operators beside them.
 *
 * The sources say which modules hold them (`methodsOf(MODULES)` in packages/tensor/src/tensor-methods.ts). A module taken as a whole
 * keeps in every page all that it exports, operators that only names reach among them, and costs a function per name. So the build writes
 * the object that `methodsOf(MODULES)` would make, and for who looks operators up by name the list of `operatorsOf(MODULES)`.
 */
import { dirname, resolve } from 'node:path';
import ts from 'typescript';

/** What a module exports besides types: functions and operators. */
function exportsOf(text, file) {
  const functions = new Set();
  const operators = new Set();
  for (const statement of ts.createSourceFile(file, text, ts.ScriptTarget.Latest).statements) {
    if (ts.isExportDeclaration(statement) && !statement.isTypeOnly)
      for (const { name } of statement.exportClause.elements) functions.add(name.text);
    const exported = ts
      .getModifiers(statement)
      ?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (exported !== true) continue;
    if (ts.isFunctionDeclaration(statement)) functions.add(statement.name.text);
    else if (ts.isVariableStatement(statement))
      for (const { name, type } of statement.declarationList.declarations)
        (isOperator(type) ? operators : functions).add(name.text);
  }
  return { functions, operators };
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
 * The source with `methodsOf(…)` and `operatorsOf(…)` written out: of methods of one name the first counts.
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
  /** Imported names by what they are called here, per module. */
  const imports = new Map();
  const imported = (module, name) => {
    const path = modules.get(module);
    imports.set(path, [...(imports.get(path) ?? []), `${name} as ${module}$${name}`]);
    return `${module}$${name}`;
  };
  const exportsIn = (list) =>
    listed(source, list).map(({ text: module }) => {
      const target = resolve(dirname(file), modules.get(module)).replace(/\.js$/, '.ts');
      return { module, ...exportsOf(read(target), target) };
    });
  const forms = {
    methodsOf(list) {
      const methods = new Map();
      for (const { module, functions } of exportsIn(list))
        for (const name of functions)
          if (!methods.has(name)) methods.set(name, imported(module, name));
      const fields = [...methods].sort(([a], [b]) => (a < b ? -1 : 1));
      return `{ ${fields.map(([name, value]) => `${name}: ${value}`).join(', ')} }`;
    },
    operatorsOf(list) {
      const all = exportsIn(list).flatMap(({ module, operators }) =>
        [...operators].map((name) => imported(module, name)),
      );
      return `[${all.join(', ')}]`;
    },
  };
  let written = '';
  let done = 0;
  /** @param {ts.Node} node */
  function visit(node) {
    const form = ts.isCallExpression(node) ? forms[node.expression.getText()] : undefined;
    if (form === undefined) return ts.forEachChild(node, visit);
    const lines = '\n'.repeat(node.getText().split('\n').length - 1);
    written += text.slice(done, node.getStart()) + form(node.arguments[0].text) + lines;
    done = node.getEnd();
  }
  visit(source);
  const added = [...imports].map(
    ([path, names]) => `import { ${names.join(', ')} } from '${path}';`,
  );
  return `${written}${text.slice(done)}\n${added.join(' ')}\n`;
}
