/**
 * @file An exported name as HTML: its declaration as TypeScript, what its doc comment says, and its members.
 */
import {
  type Comment,
  type CommentDisplayPart,
  type DeclarationReflection,
  ReflectionKind,
  ReferenceReflection,
  type SignatureReflection,
} from 'typedoc';
import type { Markdown } from './markdown.js';
import { anchorOf } from './markdown.js';
import { escapeHtml } from './page.js';

const KINDS: Partial<Record<ReflectionKind, string>> = {
  [ReflectionKind.Class]: 'class',
  [ReflectionKind.Interface]: 'interface',
  [ReflectionKind.Function]: 'function',
  [ReflectionKind.TypeAlias]: 'type',
  [ReflectionKind.Variable]: 'const',
  [ReflectionKind.Namespace]: 'namespace',
};

/** Tags that are shown, and the words before them. */
const TAGS: Readonly<Record<string, string>> = {
  '@param': 'Parameter',
  '@returns': 'Returns',
  '@throws': 'Throws',
  '@see': 'See',
  '@example': '',
};

/** What an export is, in a word. */
export function kindOf(reflection: DeclarationReflection): string {
  return KINDS[reflection.kind] ?? 'export';
}

/** The declaration behind a name that an entry takes from elsewhere. */
export function resolved(reflection: DeclarationReflection): DeclarationReflection {
  if (!(reflection instanceof ReferenceReflection)) return reflection;
  return reflection.getTargetReflectionDeep() as DeclarationReflection;
}

/** The comment of a declaration: of a function, that of its first form. */
export function commentOf(reflection: DeclarationReflection): Comment | undefined {
  const signatures = [...(reflection.signatures ?? []), reflection.getSignature];
  const type = reflection.type;
  const inner = type?.type === 'reflection' ? type.declaration.signatures : undefined;
  return (
    reflection.comment ?? [...signatures, ...(inner ?? [])].find((one) => one?.comment)?.comment
  );
}

/** Parts of a comment as Markdown; links inside comments become code. */
function textOfParts(parts: readonly CommentDisplayPart[]): string {
  return parts
    .map((part) => (part.kind === 'inline-tag' ? `\`${part.text}\`` : part.text))
    .join('');
}

/** First paragraph of a comment, as plain text. */
export function summaryOf(comment: Comment | undefined): string {
  return comment === undefined ? '' : textOfParts(comment.summary).split('\n\n')[0]!.trim();
}

function signatureText(name: string, signature: SignatureReflection): string {
  const types = signature.typeParameters?.map((type) => {
    const bound = type.type === undefined ? '' : ` extends ${type.type.toString()}`;
    return `${type.name}${bound}`;
  });
  const parameters = (signature.parameters ?? []).map((parameter) => {
    const { isOptional, isRest } = parameter.flags;
    const optional = isOptional || parameter.defaultValue !== undefined ? '?' : '';
    const rest = isRest ? '...' : '';
    // TypeDoc calls a destructured parameter so.
    const label = parameter.name === '__namedParameters' ? 'options' : parameter.name;
    return `${rest}${label}${optional}: ${parameter.type?.toString() ?? 'unknown'}`;
  });
  const generic = types === undefined ? '' : `<${types.join(', ')}>`;
  const flat = parameters.join(', ');
  const list = flat.length > 80 ? `\n  ${parameters.join(',\n  ')},\n` : flat;
  return `${name}${generic}(${list}): ${signature.type?.toString() ?? 'void'}`;
}

function memberText(member: DeclarationReflection): string {
  const { name, flags } = member;
  if (member.signatures !== undefined) {
    const shown = member.kind === ReflectionKind.Constructor ? 'constructor' : name;
    return member.signatures.map((signature) => `${signatureText(shown, signature)};`).join('\n');
  }
  if (member.getSignature !== undefined)
    return `get ${name}(): ${member.getSignature.type?.toString() ?? 'unknown'};`;
  const prefix = `${flags.isStatic ? 'static ' : ''}${flags.isReadonly ? 'readonly ' : ''}`;
  return `${prefix}${name}${flags.isOptional ? '?' : ''}: ${member.type?.toString() ?? 'unknown'};`;
}

/** The declaration of an export, without its members. */
function declarationText(name: string, reflection: DeclarationReflection): string {
  const kind = kindOf(reflection);
  if (reflection.kind === ReflectionKind.Function)
    return (reflection.signatures ?? [])
      .map((signature) => `function ${signatureText(name, signature)}`)
      .join('\n');
  const types = reflection.typeParameters?.map((type) => type.name).join(', ');
  const generic = types === undefined ? '' : `<${types}>`;
  if (reflection.kind === ReflectionKind.TypeAlias)
    return `type ${name}${generic} = ${reflection.type?.toString() ?? '{ … }'}`;
  if (reflection.kind === ReflectionKind.Variable)
    return `const ${name}: ${reflection.type?.toString() ?? 'unknown'}`;
  const bases = reflection.extendedTypes?.map((type) => type.toString()).join(', ');
  return `${kind} ${name}${generic}${bases === undefined ? '' : ` extends ${bases}`}`;
}

/** What a comment says, as HTML. */
function commentHtml(comment: Comment | undefined, markdown: Markdown): string {
  if (comment === undefined) return '';
  const parts = [textOfParts(comment.summary)];
  for (const { tag, name, content } of comment.blockTags) {
    const word = TAGS[tag];
    if (word === undefined) continue;
    const label = name === undefined ? word : `${word} \`${name}\``;
    const text = textOfParts(content);
    parts.push(label === '' ? text : `*${label}:* ${text}`);
  }
  return markdown.render(parts.join('\n\n')).html;
}

/** Members of a class, interface or namespace, each with its comment. */
function membersHtml(reflection: DeclarationReflection, markdown: Markdown): string {
  const members = (reflection.children ?? []).filter((member) => !member.flags.isExternal);
  if (members.length === 0) return '';
  const items = members.map((member) => {
    const comment = commentHtml(commentOf(member), markdown);
    // Not coloured: some classes have hundreds of members.
    const code = markdown.code(memberText(resolved(member)), 'text');
    return `<div class="member">${code}${comment}</div>`;
  });
  const list = items.join('\n');
  return members.length <= 8
    ? list
    : `<details><summary>${members.length} members</summary>${list}</details>`;
}

/** The anchor of an export on the page of its module. */
export function exportAnchor(reflection: DeclarationReflection): string {
  return `${kindOf(resolved(reflection))}-${anchorOf(reflection.name)}-${caseMark(reflection.name)}`;
}

/** Tells apart names that differ in case alone: which letters are capitals, in base 36. */
function caseMark(name: string): string {
  const bits = [...name]
    .slice(0, 30)
    .map((letter) => (letter === letter.toLowerCase() ? '0' : '1'));
  return Number.parseInt(bits.join(''), 2).toString(36);
}

/** An export as HTML. */
export function exportHtml(reflection: DeclarationReflection, markdown: Markdown): string {
  const target = resolved(reflection);
  const { name } = reflection;
  return `<section class="api" id="${exportAnchor(reflection)}">
<h2>${escapeHtml(name)} <span class="kind">${kindOf(target)}</span></h2>
${markdown.code(declarationText(name, target), 'ts')}
${commentHtml(commentOf(target), markdown)}
${membersHtml(target, markdown)}
</section>`;
}
