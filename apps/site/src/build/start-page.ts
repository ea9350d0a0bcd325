/**
 * @file The start page: what it is, the demo, install, first program. Its text is `content/start.md`, in which the line
 * `<!-- demo -->` stands for the demo.
 */
import type { Markdown } from './markdown.js';
import type { Page } from './page.js';
import { textOf } from './repository-files.js';

/** Nothing of it runs before the button is pressed. */
const DEMO = `<section class="demo" aria-labelledby="demo-title">
<h2 id="demo-title" style="margin-top:0">Train it here</h2>
<p>1,797 handwritten digits, two linear layers, AdamW. Forward, backward and update are one compiled function; it runs in
a worker of this page, on your CPU, in WebAssembly.</p>
<p><button type="button" class="primary" id="train">Train</button>
<span id="train-state" role="status" class="muted"></span></p>
<dl class="figures" id="train-figures" hidden></dl>
<div class="chart" id="train-chart" role="img" aria-label="Loss by step" hidden></div>
<ul class="digits" id="train-digits" aria-label="Digits that the model has not seen, and what it reads" hidden></ul>
</section>`;

/** The page. */
export function startPage(markdown: Markdown): Page {
  const { html } = markdown.render(textOf('apps/site/content/start.md'));
  return {
    path: 'index.html',
    title: 'Tessera: torch.compile for TypeScript',
    description: 'Tensors, autograd and a compiler to fused WebAssembly and WebGPU kernels.',
    body: html.replace('<!-- demo -->', DEMO),
    script: 'start',
  };
}
