"""The pseudocode of our algorithms, as implemented, for their pages; the classes' docstrings have formulas and errata."""

__all__ = ["PSEUDOCODE"]

PSEUDOCODE: dict[str, str] = {
    "linear-newton": """
w <- 0, sigma <- mean c, a <- 0; hinge with many points: w, sigma <- those of a sample of the rows, a <- c/2
repeat
    alpha_i <- clip(a_i + sigma (1 - u_i), 0, c_i) for the hinge, 2 c_i (1 - u_i)_+ for its square
    one pass: v <- sum alpha_i y_i x_i, H <- 2 mu I + sum d_i x_i x_i' over the points at which the loss is curved
    gap <- least objective so far - largest dual value so far
    if gap <= tol: one more pass at v / (2 mu), where the gap must be at most tol too (tol < 1e-4); then stop
    if ||2 mu w - v||^2 / (4 mu), a part of the gap, is at most a tenth of the other, which the hinge's smoothing hides
        a <- alpha; sigma <- 5 sigma
    else
        solve H s = v - 2 mu w (more than 2,000 columns: conjugate gradients, a pass for each product)
        one pass: du <- y * (X s); t <- length at which the slope is a tenth of what it was, or less, by halving
        w <- w + t s; u <- u + t du""",
    "boxqp": """
repeat
    repeat
        for i in a random order of the variables that are not shrunk
            a_i <- clip(a_i - g_i / Q_ii, l_i, u_i); update the factor's product Z'a
            shrink i if it rests at a bound and its gradient keeps it there
    until the violation of the projected gradient is below the round's; bring all variables back
    recompute gradient and duality gap from the data in float64
    if Newton steps would cost less than the descent so far: try projected Newton steps on the free variables
    if an interior-point solve would, and none was tried: try it
    the next round's violation is a tenth
until gap <= tol""",
    "conic-ipm": """
start strictly feasible on both sides; eliminate z_i, q_i, rho_i point by point
repeat
    scale by Nesterov and Todd; assemble the reduced Newton system, O(n p^4 + p^6) or O(n^3 + n^2 p)
    predictor: solve with target 0; mu_aff <- the gap per cone that its longest step would leave, mu <- the present one
    sigma <- max((mu_aff / mu)^3, (1 - longest step)^3), at most 1
    corrector: solve again, same factors, with target sigma mu and the predictor's second-order terms
    step .9 to .99 of the way to the boundary on each side; objective and bound of the iterate give the gap
until gap <= tol, or rounding stops the progress""",
    "conic-factored": """
choose w = 0 and L (p x k), W = ww' + LL'
repeat
    z_i <- best value for (w, L), in closed form; evaluate objective and gradient, O(npk)
    direction by limited-memory BFGS; line search
    every 20 steps, and where no step is possible
        gamma_i <- mu z_i^2 / r_i^2, v_i <- 2 sqrt(mu gamma_i); bound <- its value, repaired to exact feasibility
    no step, and the gap is open: the top eigenvector of sum gamma_i a_i a_i' takes the place of L's least used column
until gap <= tol, or no such direction is left""",
    "maxmin": """
repeat
    a <- optimum of the two-hulls dual at gamma, by the inner solver, from the last a
    slope <- derivative of 1/2 a'Q(gamma)a in gamma at fixed a (envelope theorem); 0 where it points out of gamma's range
    if |d log f / d log gamma| <= eps2: stop, STATIONARY
    eta <- |last move| / |change of the slope|; the first move changes gamma by a factor of 4
    repeat
        gamma+ <- gamma + eta slope, within a factor of 4, and between the last gamma where f rose and where it fell
        eta <- eta / 2
    until 1/2 a'Q(gamma+)a rises at fixed a
    gamma <- gamma+
rate="printed": eta is 1 at first, then the size of the last move, and |slope| <= eps2 stops""",
    "kernel-npsvcpp": """
tau <- 1/K; V, P at random, P'P = I
repeat
    for each class l: u_l <- optimum of its box QP (15)-(16) at the last v_l
    v_l <- r1/(r1 + r2) P'u_l
    grad_l <- gradient G_l of the class objective in P, projected on the tangent space
    if min over the simplex of ||sum_l tau_l grad_l|| <= tol max_l ||G_l||, also at the classes' joint optima in (u, v)
        stop, STATIONARY (Pareto)
    P <- optimum of (19) on the Stiefel manifold for the weights tau
    tau <- .75 (minimiser of (20)) + .25 tau
    P <- polar factor of P - eta sum_l tau_l grad_l
until P rests, or the iteration limit
at the end every class's own problem is solved for the final P""",
    "alternating": """
as kernel-npsvcpp, with
    box QPs by the solver named qp= (clarabel)
    the Stiefel problem by stiefel= (pymanopt), from the last P, 25 iterations at most
    weights by simplex= (clarabel)
at the end boxqp brings the classes' problems to the certificate's accuracy""",
    "npsvc-mm": """
for each start u
    repeat
        majorise each concave part at u by its tangent
        u+ <- optimum of the majorant, a convex problem with hinge losses, from the last dual point
        if the majorant falls by no more than tol below the objective at u: stop, STATIONARY
        u <- u+
answer: the best of the ends""",
    "auto-simplex": """
columns <- float64 where n <= 2,000 and the whole matrix fits the memory; else float32
cache <- the memory limit, or a quarter of the usable memory; no more than the whole matrix takes
start <- the farthest vertex where there is a linear term and one simplex; else a vertex
run smo with these""",
    "smo": """
2,000 points and more with a ridge: Newton steps on a low-rank model's support, where half of the points may have weight
repeat
    i <- argmax over the points of -grad_i (of the simplex that violates most)
    j <- with a_j > 0: the pair of largest second-order decrease with i
    a_i, a_j <- exact minimum along e_i - e_j, j leaves the support at a_j = 0
    gradient += step * (Q_i - Q_j), columns in float32
    at each tenfold smaller gap: Newton steps on the support, if they cost less than the pairs still expected
    at gap <= tol: recompute the gradient in float64 from the data
until the gap of that gradient is <= tol""",
    "smo-box": """
eps <- a hundredth of the largest |c_i|
repeat
    pair (i, j) of largest second-order decrease that keeps s'a
    move along it to the minimum or to the first bound
    now and then: shrink points at a bound that no violating pair needs
    when max_low d - min_up d <= eps: all points back, gradient in float64, true gap
        gap <= tol: stop; otherwise eps falls""",
    "fw": """
repeat
    i <- argmin_i grad_i                       (over all points, or a sample)
    gap <- a'grad - grad_i
    lam <- exact line search toward e_i, clipped to [0, 1]
    a <- (1 - lam) a + lam e_i
until gap <= tol""",
    "mfw": """
repeat
    i <- argmin_i grad_i; j <- argmax over the support of grad_j
    if a'grad - grad_i >= grad_j - a'grad: toward e_i, exact step
    otherwise: away from e_j, exact step, at most a_j / (1 - a_j); j leaves where the bound holds
until gap <= tol""",
    "pairwise-fw": """
repeat
    i <- argmin_i grad_i; j <- argmax over the support of grad_j
    move weight from j to i: exact step, at most a_j
until gap <= tol""",
    "blended-pairwise-fw": """
repeat
    i <- argmin_i grad_i; s, j <- argmin, argmax of grad over the support
    if grad_j - grad_s >= a'grad - grad_i: move weight from j to s, exact step, at most a_j
    otherwise: toward e_i, exact step
until gap <= tol""",
    "cvm": """
core <- a few points
repeat
    a <- QP on the core, second-order pairs from the last solution, to a tenth of the current gap
    i <- the furthest point (least gradient); gap
    add i to the core; if it is there already: the QP's next accuracy is a tenth
until gap <= tol""",
    "pga": """
free <- {i: a_i > 0}
repeat
    d_i <- mean of grad over the free points of i's simplex - grad_i, 0 on the others
    if max |d_i| <= half of the worst violation of a bound: that bound's point joins the free ones; d again
    lam <- exact line search along d, at most to the first bound; a point that reaches its bound leaves the free ones
    a <- a + lam d
until gap <= tol""",
    "stiefel-bb": """
repeat
    G <- Riemannian gradient of Tr(P'HP) + 2Tr(P'E); length: the two Barzilai-Borwein lengths by turns
    P <- polar factor of P + length G; length <- .3 length until the non-monotone rule of Zhang and Hager holds
until ||G|| <= tol max(1, ||2(HP + E)||)""",
    "gpi": """
alpha <- 0, or -lambda_min(H) by Lanczos where H is not positive semidefinite
repeat
    P <- polar factor of H P + alpha P + E
until the Riemannian gradient is small against its scale""",
    "gpi-momentum": """
alpha as in gpi; k <- 1
repeat
    Y <- P + (k - 1)/(k + 2) (P - P_old)
    P+ <- polar factor of H Y + alpha Y + E
    if f fell: P+ <- polar factor of H P + alpha P + E, k <- 1
    P_old, P, k <- P, P+, k + 1
until the Riemannian gradient is small against its scale""",
    "pymanopt": """
repeat, five times at most
    G <- gradient 2(HP + E); stop where the Riemannian gradient is at most tol max(1, ||G||)
    P <- pymanopt's optimiser on -Tr(P'HP) - 2Tr(P'E) from P, to .9 tol max(1, ||G||)
    P <- polar factor of P""",
    "margin-bb": """
where nothing restricts w: turn to coordinates in which sums of opposite points are sparse
UB <- the convex-concave procedure from several starts, integers rounded, ever more coefficients held at 0 where zeros count
cut <- UB (1 - tol/4); heap <- the box that holds every w better than UB, with p = 0
repeat until the heap is empty, or its least bound >= cut
    take the box of least bound
    as long as its bound rises or the box shrinks
        narrow the box by rows, points that must be kept, integers and numbers of coefficients; drop it where it is empty
        in every other round the points of each budget are there once more, with price theta and the 0-1 loss
        bound the margins on the box; envelope of each loss there: a constant and hinges
        pay a matching of pairs whose margins sum to too little in the box; it takes its part of their costs
        P <- the vertex of {p : |x_j'p| <= 1} that is steepest at w, by the simplex method from the last one
        bound <- prices of coefficients that are not 0 - theta limits + pairs
               + dual value of the small hinge problem with the norm max{p'w, P'w} and multipliers of rows, rounding taken off
        p <- p + (multiplier of P's piece)(P - p); w <- its solution, which may lower UB and cut
        if bound >= cut: drop the box
        the ball of squared radius cut - bound about the dual value's minimiser shrinks the box
    where it is open whether a coefficient is 0 and that matters: one part where it is, one where it is not
    else split the coordinate along which margins range most, a fifth of the way from the middle to w, between two integers
    both parts go on the heap
no UB and an empty heap: there is no point""",
    "multiclass-ascent": """
alpha <- 0, W <- 0; all points are active
repeat
    for each active point i in a random order
        scores <- W x_i; maximise D over the block alpha_i exactly, by sorting; W <- W + the change times x_i
        a block at a vertex without a gap rests until the next pass over all points
    where a sweep reduces the gap by little: conjugate gradients on the face of the multipliers that are free,
        the end moved into the polytopes, then an exact line search towards it
    after a pass over all points: gap <- sum over i of c_i l_i - sum_k alpha_ik g_ik
until the relative gap is at most tol""",
    "sparse-bb": """
a node decides for some features: in use (they count, used or not), or 0
UB <- the best intercept alone; heap <- the node of all supports
repeat until the heap is empty, or its least bound >= UB - tol UB
    take the node of least bound
    repeat
        interior point method on the perspective relaxation of the features of largest gains: multipliers α
        α <- whole multiples of a power of two, within the losses' bounds, balanced for a free intercept
        v <- A'α; gain_j <- max over w of v_j w - q w^2/2, less the price
        bound <- dual terms - gains in use - largest others up to k
        until bound >= cutoff, or no feature outside gains more than one inside; else add those
    the support of largest z, refitted, may lower UB; then swaps of its features
    features whose other choice the same α prices at the cutoff or above are decided
    if the root's bound is far below the cutoff: for each feature that is not 0, and each sign
        relaxation where its coefficient is the largest one, t at least: its α bounds such points by a convex φ(t)
        other t until those with φ(t) < cutoff have no common one; the feature is nowhere the largest
        where no feature is left: close the node
    split by a feature that may be the largest, if these are few, else by that of the most fractional z
every α goes to the proof log where one is asked for""",
    "ramp-bb": """
a point pays 0 from margin r on, h below c; a node has points that are given up, and lower bounds l_i of margins
conflicts <- sets of points with sum u_i a_i = 0 that the root's linear program violates, as long as they raise it
UB <- the convex-concave procedure from several starts; cut <- UB (1 - tol)
at the root, as long as that helps: for each point, l_i <- the least margin where the linear program is below the cut
repeat until the heap is empty, or its least bound >= cut
    take the node of least bound
    solve its linear program: slopes c_i h/(r - l_i), one row for each conflict; its point may lower UB
    multipliers <- whole multiples of a power of two, balanced for a free intercept; bound <- what follows from them
    if bound < cut: split by the point whose loss the program underestimates most: l_i <- c, or given up
all multipliers go to the proof log where one is asked for""",
    "risk-bb": """
merge equal rows; a node is a box of whole coefficients; UB <- a descent by single coefficients
repeat until the heap is empty, or its least bound is within the tolerance of UB
    take the box of least bound; split it below 0, at 0 and above 0 of the coefficient whose price is least paid, else in two
    each part: rho <- the minimiser of the loss and the convex envelopes of the prices; its nearest whole system may lower UB
        alpha_i <- c_i/(1 + exp(y_i x_i'rho)), the weights of the points
        bound <- sum c_i H(alpha_i/c_i) + the least price less rho_j sum alpha_i y_i x_ij of each coefficient, k of them at most
        if the bound, less its rounding, is below UB: put the part on the heap""",
    "supports-bb": """
merge equal rows; a node is a box of whole coefficients, "these are not 0", "at least one more is not 0"
UB <- descents by single coefficients and swaps, judged in fractions; heap <- the node of all systems
repeat until the heap is empty, or its least bound is above every better value
    many features, opposite points hardly ever alike: a linear program over pairs of these points bounds the node of least bound
        its multipliers, made whole, are the bound; the system nearest to its solution may lower UB; split where it is not whole
    else take the node of least bound; search below it in depth for 400 nodes; put back what stays open
        carry "not 0" and the most coefficients that are allowed into the box
        bound <- prices of the coefficients that are not 0 + the cheaper class of each cell of points with one score
        if a node of this bound may be better than UB
            bound <- those prices + the largest flow between points of two classes that are never both right in the box
        if it may not: drop the node
        a box of one system is judged in fractions; it may lower UB
        branch, on many features of few values: the next coefficient and no other; it and others; others without it
        branch else: the coefficient that moves scores most is 0, positive, negative; then its range is halved
    every 4,000 nodes a descent from a small support or from the incumbent
every split goes to the proof log where one is asked for""",
    "zero-one-bb": """
merge equal rows, rotate to the coordinates that matter, round rows outward
UB <- heuristic incumbent; cut <- UB - 0.9 tol UB
up to 6 coordinates boxes, with more norm-conflicts; up to 10 the other beside it: the one whose bound is ahead works more

boxes
    heap <- the box that holds every w with f(w) < cut
    repeat until the heap is empty, or its least bound >= cut
        take the half of the last box where the relaxation's w lies, or else the box of least bound
        points that every (or no) w of the box keeps leave it
        twice at most
            pair points that no w of the box keeps both: a largest matching across the classes, by augmenting paths
            bound <- cost of the violated points + of the pairs + hinge relaxation of the weights that are left
            if bound >= cut, or no level of the loss below the cut remains: drop the box
            shrink it by the ball that the relaxation leaves; fix points that this decides
        w of the relaxation, scaled, may lower UB and cut
        halve the coordinate along which a free point's margin ranges most; the other half goes on the heap

norm-conflicts
    for targets T that grow to cut
        depth first: a node keeps some points, gives up others
            pack conflicts: sets of points that no w of ||w||^2 < T - cost so far - packing keeps together, each at
                the least weight that its free points have left
            if nothing of T is left: drop the node; a w that keeps all the rest may lower UB and cut
            a conflict with one free point: that point is given up, and again
            branch on a free point that w violates far and many conflicts hold: given up, then kept
        nothing below T is left: T is a lower bound

lower bound <- least bound of open nodes, times what the rotation may have lost
every step goes to the proof log where one is asked for""",
}
