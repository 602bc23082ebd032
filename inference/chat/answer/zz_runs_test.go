package answer
import ("testing";"os";"path/filepath";"runtime";"io/fs";"strings";"sort";"fmt")
func TestRuns(t *testing.T){
 type res struct{n,p int; name string}
 var words, bytes []res
 filepath.WalkDir(filepath.Join(runtime.GOROOT(),"src"), func(path string,d fs.DirEntry,err error) error{
  if err!=nil||d.IsDir()||!strings.HasSuffix(path,".go"){return nil}
  data,_:=os.ReadFile(path)
  if len(data)>400000 {data=data[:400000]}
  run:=func(ids []int32) res{ var eq [64]int; best:=res{}; for i:=range ids{ for p:=1;p<=64&&p<=i;p++{ if ids[i-p]==ids[i]{eq[p-1]++; if l:=eq[p-1]+p; l>best.n && l>=12*p {best=res{l,p,path}}}else{eq[p-1]=0}}}; return best}
  var w,b []int32; m:=map[string]int32{}
  text:=string(data)
  for at:=0;at<len(text);{ end:=at+1
   for end<len(text)&&end-at<16&&class(text[end])==class(text[at])&&(class(text[at])<3||text[end]==text[at]){end++}
   if m[text[at:end]]==0{m[text[at:end]]=int32(len(m)+1)}; w=append(w,m[text[at:end]]); at=end}
  for _,c:=range data{b=append(b,int32(c))}
  words=append(words,run(w)); bytes=append(bytes,run(b)); return nil})
 for _,l:=range [][]res{words,bytes}{ sort.Slice(l,func(i,j int)bool{return l[i].n>l[j].n}); for _,r:=range l[:14]{fmt.Println(r)}; fmt.Println()}
}
