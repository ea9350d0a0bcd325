/**
 * @file The gallery: programs that run in the page, each beside the code of its model.
 */
import type { Markdown } from './markdown.js';
import { type Page, escapeHtml } from './page.js';
import { textOf } from './repository-files.js';

/** A program of the gallery; `name` is that of its page, script and model. */
interface Exhibit {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** HTML of what it is used with. */
  readonly controls: string;
}

const STATE = '<p id="state" role="status" class="muted"></p>';
const CHART = '<div class="chart" id="chart" role="img" aria-label="Loss by step"></div>';
const DIGITS = Array.from({ length: 10 }, (_, digit) => digit);

const EXHIBITS: readonly Exhibit[] = [
  {
    name: 'digits',
    title: 'Digits',
    summary: 'Train a reader of digits, draw some, and tell it what it got wrong: it learns on.',
    controls: `<p><button type="button" class="primary" id="learn">Train</button>
<button type="button" id="clear">Clear the drawing</button></p>${STATE}
<div class="pad"><canvas id="pad" tabindex="0" role="application"
aria-label="Drawing: the arrow keys move the pen, the space bar puts it down and takes it up"></canvas>
<ol id="likely" start="0" aria-label="How likely each digit is">${DIGITS.map((digit) => `<li>${digit} <meter min="0" max="1" value="0" aria-label="${digit}"></meter></li>`).join('')}</ol></div>
<p id="answers" role="group" aria-label="What it is">It is a ${DIGITS.map((digit) => `<button type="button" disabled>${digit}</button>`).join(' ')}</p>`,
  },
  {
    name: 'text',
    title: 'Text',
    summary:
      'A GPT in miniature learns characters from the text below, or from one that you paste.',
    controls: `<p><label for="text">Text to learn from</label><textarea id="text" rows="8"></textarea></p>
<p><button type="button" class="primary" id="learn">Learn</button>
<label>It begins with <input id="start" value="The "></label>
<button type="button" id="write">Write</button></p>${STATE}
<pre id="written" tabindex="0" role="group" aria-label="What it wrote" class="written"></pre>${CHART}`,
  },
  {
    name: 'points',
    title: 'Diffusion',
    summary:
      'A network learns to take noise off the points of a shape, then makes the shape out of noise.',
    controls: `<p><label>Shape <select id="shape"><option>spiral</option><option>moons</option><option>star</option></select></label>
<button type="button" class="primary" id="learn">Learn</button>
<button type="button" id="make" disabled>Make points</button></p>${STATE}
<canvas id="points" role="img" aria-label="The points"></canvas>${CHART}`,
  },
];

/** Names of the models' files, whose length a test looks at. */
export const MODELS: readonly string[] = EXHIBITS.map(
  ({ name }) => `apps/site/src/gallery/${name}-model.ts`,
);

/** A page for each program, and their index. */
export function galleryPages(markdown: Markdown): Page[] {
  const index: Page = {
    path: 'gallery/index.html',
    title: 'Gallery',
    description: 'Programs that train in the page, with their code.',
    layout: 'wide',
    body: `<h1>Gallery</h1>
<p class="lead">Each of them trains in a worker of its page, on your CPU. The code beside it is the code that runs.</p>
<ol class="contents">${EXHIBITS.map(
      ({ name, title, summary }) =>
        `<li><a href="${name}.html">${escapeHtml(title)}</a><p>${escapeHtml(summary)}</p></li>`,
    ).join('\n')}</ol>`,
  };
  const pages = EXHIBITS.map(({ name, title, summary, controls }, i): Page => ({
    path: `gallery/${name}.html`,
    title,
    description: summary,
    script: `gallery-${name}`,
    body: `<h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(summary)}</p>
<section class="demo gallery" aria-label="Program">${controls}</section>
<h2>Its code</h2>
${markdown.code(textOf(MODELS[i]!).trimEnd(), 'ts')}`,
  }));
  return [index, ...pages];
}
