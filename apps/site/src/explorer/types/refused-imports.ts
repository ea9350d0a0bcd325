/**
 * @file Imports that a program cannot have where it runs. TypeScript knows more modules than that: declarations of packages
 * name others, and entries that only packages use.
 */
import ts from 'typescript';
import { isProgramEntry, noSuchEntry } from '../program-packages.js';
import type { TypeProblem } from './type-messages.js';

/** Whether nothing of an import is left when types are stripped. */
function isOnlyTypes({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false;
  const { isTypeOnly, name, namedBindings } = importClause;
  if (isTypeOnly) return true;
  return (
    name === undefined &&
    namedBindings !== undefined &&
    ts.isNamedImports(namedBindings) &&
    namedBindings.elements.length > 0 &&
    namedBindings.elements.every((element) => element.isTypeOnly)
  );
}

/** What a node imports, if it imports something when the program runs. */
function importedBy(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node)) return isOnlyTypes(node) ? undefined : node.moduleSpecifier;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly ? undefined : node.moduleSpecifier;
  const isImport =
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return isImport ? node.arguments[0] : undefined;
}

/** See the file header. Messages are those that the program would end with. */
export function refusedImports(program: ts.SourceFile): readonly TypeProblem[] {
  const found: TypeProblem[] = [];
  const visit = (node: ts.Node): void => {
    const imported = importedBy(node);
    if (
      imported !== undefined &&
      ts.isStringLiteralLike(imported) &&
      !isProgramEntry(imported.text)
    )
      found.push({
        from: imported.getStart(program),
        to: imported.getEnd(),
        message: noSuchEntry(imported.text),
      });
    ts.forEachChild(node, visit);
  };
  visit(program);
  return found;
}
