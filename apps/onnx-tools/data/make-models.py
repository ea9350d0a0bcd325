"""Exports the models of models.gz with PyTorch 1.13 (python3 make-models.py, in this folder).

A residual network with batch norms, a transformer encoder with dynamic batch and length, and a bidirectional LSTM, each
with inputs and the outputs that PyTorch computed. The archive holds, per file, the lengths of name and bytes (16 and 32
bits), the name and the bytes.
"""
import io
from archive import pack, safetensors
import torch, torch.nn as nn
torch.manual_seed(0)
files = {}
class Block(nn.Module):
    def __init__(s,i,o,stride):
        super().__init__()
        s.c1=nn.Conv2d(i,o,3,stride,1,bias=False); s.b1=nn.BatchNorm2d(o)
        s.c2=nn.Conv2d(o,o,3,1,1,bias=False); s.b2=nn.BatchNorm2d(o)
        s.d=nn.Sequential(nn.Conv2d(i,o,1,stride,bias=False),nn.BatchNorm2d(o))
    def forward(s,x):
        y=torch.relu(s.b1(s.c1(x))); return torch.relu(s.b2(s.c2(y))+s.d(x))
class CNN(nn.Module):
    def __init__(s):
        super().__init__()
        s.stem=nn.Sequential(nn.Conv2d(3,8,5,2,2),nn.BatchNorm2d(8),nn.ReLU(),nn.MaxPool2d(2))
        s.a=Block(8,12,1); s.b=Block(12,16,2); s.up=nn.Upsample(scale_factor=2,mode='bilinear',align_corners=False)
        s.dw=nn.Conv2d(16,16,3,padding=1,groups=16); s.act=nn.Hardswish(); s.head=nn.Linear(16,7)
    def forward(s,x):
        y=s.act(s.dw(s.up(s.b(s.a(s.stem(x))))))
        return s.head(y.mean((2,3)))
class Enc(nn.Module):
    def __init__(s):
        super().__init__()
        s.emb=nn.Embedding(40,24); s.pos=nn.Embedding(32,24)
        s.layers=nn.ModuleList([nn.ModuleDict(dict(n1=nn.LayerNorm(24),q=nn.Linear(24,24),k=nn.Linear(24,24),v=nn.Linear(24,24),o=nn.Linear(24,24),n2=nn.LayerNorm(24),f=nn.Linear(24,48),g=nn.Linear(48,24))) for _ in range(2)])
        s.norm=nn.LayerNorm(24); s.head=nn.Linear(24,5)
    def forward(s,ids,mask):
        B,L=ids.shape
        x=s.emb(ids)+s.pos(torch.arange(ids.size(1)))
        keep=(1.0-mask[:,None,None,:].float())*-10000.0
        for l in s.layers:
            h=l['n1'](x)
            q,k,v=[l[n](h).view(ids.size(0),ids.size(1),4,6).transpose(1,2) for n in 'qkv']
            a=torch.softmax(q@k.transpose(-1,-2)/6**.5+keep,-1)
            x=x+l['o']((a@v).transpose(1,2).reshape(ids.size(0),ids.size(1),24))
            x=x+l['g'](torch.nn.functional.gelu(l['f'](l['n2'](x))))
        return s.head(s.norm(x))
class Rec(nn.Module):
    def __init__(s):
        super().__init__()
        s.rnn=nn.LSTM(6,10,2,batch_first=True,bidirectional=True); s.head=nn.Linear(20,4)
    def forward(s,x):
        y,(h,c)=s.rnn(x); return s.head(y),h
def bn(m):
    for l in m.modules():
        if isinstance(l,nn.BatchNorm2d):
            l.running_mean.normal_(0,.3); l.running_var.uniform_(.5,2); l.weight.data.uniform_(.5,1.5); l.bias.data.normal_(0,.2)
cases=[
 ('cnn',CNN(),dict(x=torch.randn(2,3,32,32)),['y'],{'x':{0:'N'},'y':{0:'N'}},14),
 ('encoder',Enc(),dict(ids=torch.randint(0,40,(2,9)),mask=(torch.arange(9)[None]<torch.tensor([[9],[6]])).long()),['y'],{'ids':{0:'batch',1:'length'},'mask':{0:'batch',1:'length'},'y':{0:'batch',1:'length'}},16),
 ('lstm',Rec(),dict(x=torch.randn(3,7,6)),['y','h'],{'x':{0:'B',1:'T'},'y':{0:'B',1:'T'},'h':{1:'B'}},12),
]
tensors={}
for name,m,ins,outs,axes,op in cases:
    m.eval(); bn(m)
    file=io.BytesIO()
    torch.onnx.export(m,tuple(ins.values()),file,opset_version=op,input_names=list(ins),output_names=outs,dynamic_axes=axes)
    files[name+'.onnx']=file.getvalue()
    with torch.no_grad(): r=m(*ins.values())
    r=r if isinstance(r,tuple) else (r,)
    for k,v in ins.items(): tensors[f'{name}/in/{k}']=v
    for k,v in zip(outs,r): tensors[f'{name}/out/{k}' if len(outs)>1 else f'{name}/out']=v
files['models.safetensors']=safetensors(tensors)
pack('models.gz',files)
