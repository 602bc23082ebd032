package swarm

import (
	"strconv"
	"strings"
)

// Name is the name of the n-th agent of a run, from 0: a mathematician's, and after
// the last of them the same again with a number. The order is part of kept logs and
// never changes; new names go to the end, before which no log has gone yet.
func Name(n int) string {
	name := mathematicians[n%len(mathematicians)]
	if round := n / len(mathematicians); round > 0 {
		name += strconv.Itoa(round + 1)
	}
	return name
}

var mathematicians = strings.Fields(`
noether gauss abel hilbert ramanujan germain euler kovalevskaya riemann galois
lovelace cantor poincare hypatia fermat lagrange mirzakhani cauchy weierstrass dedekind
turing godel kolmogorov ladyzhenskaya banach hausdorff lebesgue robinson cartwright hardy
littlewood erdos ramsey artin weyl neumann emmy birkhoff sylvester cayley
hamilton boole demorgan venn jacobi dirichlet kummer kronecker eisenstein liouville
hermite chebyshev lyapunov markov lobachevsky bolyai mobius klein lie killing
cartan frobenius schur burnside sylow jordan lindemann minkowski hurwitz landau
hecke siegel hasse weil chevalley dieudonne serre grothendieck deligne faltings
wiles taylor ribet frey shimura taniyama iwasawa kodaira hironaka ito
oka takagi seki chern hua chow yau tao zhang perelman
gromov arnold gelfand sobolev pontryagin alexandrov urysohn luzin steklov vinogradov
linnik selberg skolem thue brun nevanlinna ahlfors lindelof mittagleffler fredholm
volterra levi ricci beltrami betti cremona peano bombieri segre fano
euclid archimedes diophantus apollonius eratosthenes thales pythagoras eudoxus menelaus ptolemy
khayyam alkhwarizmi albiruni brahmagupta bhaskara aryabhata madhava fibonacci cardano tartaglia
viete napier briggs descartes pascal wallis barrow newton leibniz bernoulli
lhopital maclaurin stirling moivre bayes legendre laplace fourier poisson monge
`)
