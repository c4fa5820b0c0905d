"""Our algorithms in a few lines each, as implemented; their classes' docstrings have the formulas and the errata."""

__all__ = ["PSEUDOCODE"]

PSEUDOCODE: dict[str, str] = {
    "boxqp": """
repeat
    for i in a random order of the variables that are not shrunk
        a_i <- clip(a_i - g_i / Q_ii, l_i, u_i); update the factor's product Z'a
        shrink i if it rests at a bound and its gradient keeps it there
    until the violation of the projected gradient is a tenth of the last round's
    recompute gradient and duality gap from the data in float64; bring all variables back
    if Newton steps (or interior-point steps) now cost less than the descent so far
        try projected Newton steps on the free variables
until gap <= tol""",
    "conic-ipm": """
start strictly feasible on both sides; eliminate z_i, q_i, rho_i point by point
repeat
    scale by Nesterov and Todd; assemble the reduced Newton system, O(n p^4 + p^6) or O(n^3 + n^2 p)
    predictor: solve with target 0, find the longest step inside the cones
    corrector: solve again, same factors, with the centring that the predictor earned
    step on both sides; objective and bound of the iterate give the gap
until gap <= tol, or rounding stops the progress""",
    "conic-factored": """
choose w and L (p x k), W = ww' + LL'
repeat
    z_i <- best value for (w, L), in closed form; evaluate objective and gradient, O(npk)
    direction by limited-memory BFGS; line search
    gamma_i, v_i <- dual point from z_i; bound <- its value, repaired to exact feasibility
    raise k where the dual point shows a direction of negative curvature
until gap <= tol""",
    "maxmin": """
repeat
    a <- optimum of the two-hulls dual at gamma, by the inner solver, from the last a
    slope <- derivative of 1/2 a'Q(gamma)a at fixed a (envelope theorem)
    if |slope| is stationary, or points out of gamma's range at its end: stop, STATIONARY
    eta <- 1; halve it until 1/2 a'Q(gamma + eta slope)a rises at fixed a
    gamma <- gamma + eta slope""",
    "kernel-npsvcpp": """
repeat
    for each class l: u_l <- optimum of its box QP (15)-(16); v_l <- closed form
    G_l <- gradient of the class objective in P, projected on the tangent space
    tau <- argmin over the simplex of ||sum_l tau_l G_l||
    if ||sum_l tau_l G_l|| / max_l ||G_l|| <= tol: stop, STATIONARY (Pareto)
    P <- optimum of (19) on the Stiefel manifold for weights tau
    tau <- (20); P <- step along the common descent direction
until nothing moves, or the iteration limit""",
    "alternating": """
as kernel-npsvcpp, with
    box QPs by the solver named qp=
    the Stiefel problem by stiefel=
    weights by simplex=
at the end boxqp brings the classes' problems to the certificate's accuracy""",
    "npsvc-mm": """
for each start u
    repeat
        majorise each concave part at u by its tangent
        u+ <- optimum of the majorant, a convex problem with hinge losses, from the last dual point
    until u is optimal for its own majorant (stationary)
answer: the best of the ends""",
    "auto-simplex": """
estimate support, cache and precision from n, the gap asked and the memory
run smo with precision, cache and start so chosen""",
    "smo": """
repeat
    i <- argmax over the simplex's points of -grad_i
    j <- with a_j > 0: the pair of largest second-order decrease with i
    a_i, a_j <- exact minimum along e_i - e_j
    gradient += step * (Q_i - Q_j), columns in float32
    every round: recompute the gradient in float64 from the data; gap
    if the support is small enough: Newton steps on it
until gap <= tol""",
    "smo-box": """
repeat
    pair (i, j) of largest second-order decrease that keeps s'a
    move along it to the minimum or to the first bound
    shrink points at a bound that no violating pair needs
    when the violation is <= eps: all points back, gradient in float64, true gap
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
    toward: exact step to e_i; away: exact step from e_j, at most a_j / (1 - a_j)
    take the one that lowers the objective more; drop j where the bound holds
until gap <= tol""",
    "pairwise-fw": """
repeat
    i <- argmin_i grad_i; j <- argmax over the support of grad_j
    move weight from j to i: exact step, at most a_j
until gap <= tol""",
    "blended-pairwise-fw": """
repeat
    i <- argmin_i grad_i; s, j <- argmin, argmax over the support
    if grad_j - grad_s >= a'grad - grad_i: move weight from j to s, exact step
    otherwise: toward step to e_i
until gap <= tol""",
    "cvm": """
core <- a few points
repeat
    a <- QP on the core, second-order pairs from the last solution, to a tenth of the current gap
    i <- the point outside that is furthest (least gradient); gap
    add i to the core
until gap <= tol""",
    "pga": """
repeat
    free <- {i: a_i > 0}; d_i <- mean of grad over the free points of i's simplex - grad_i
    if the face is stationary: the most violating bound joins the free points
    lam <- exact line search along d, at most to the first bound
    a <- a + lam d
until gap <= tol""",
    "accelerated-projection": """
repeat
    y <- a + beta (a - a_old)
    a_old, a <- a, projection of y - (Qy + c) / L on the simplices
    drop the momentum where it points uphill
until gap <= tol""",
    "stiefel-bb": """
repeat
    G <- Riemannian gradient; length: the two Barzilai-Borwein lengths by turns
    P <- polar factor of P + length G; shorten it until the non-monotone rule of Zhang and Hager holds
until ||G|| is small against its scale""",
    "gpi": """
alpha <- 0, or -lambda_min(H) by Lanczos where H is not positive semidefinite
repeat
    P <- polar factor of H P + alpha P + E
until the Riemannian gradient is small against its scale""",
    "gpi-momentum": """
alpha as in gpi
repeat
    Y <- P + (k - 1)/(k + 2) (P - P_old)
    P+ <- polar factor of H Y + alpha Y + E
    if f fell: take the step back, repeat it from P without momentum
until the Riemannian gradient is small against its scale""",
    "pymanopt": """
repeat
    P <- pymanopt's optimiser on -Tr(P'HP) - 2Tr(P'E) from P, to tol times the scale at P
until the relative Riemannian gradient is small""",
    "ramp-bb": """
rotate to the principal axes of the points; UB <- the convex-concave procedure from several starts
heap <- the box that holds every w better than UB
repeat until the heap is empty, or its least bound >= cut
    take the box of least bound; bound the margins on it
    envelope of each ramp there: a constant, a line or a hinge
    bound <- dual value of the small hinge problem, rounding taken off
    if bound >= cut: drop the box
    w of the hinge problem may lower UB; the ball about it shrinks the box
    halve the box, put both halves on the heap""",
    "supports-bb": """
merge equal rows; a node is a box of whole coefficients, "these are not 0", "at least one more is not 0"
UB <- descents by single coefficients and swaps, judged in fractions; heap <- the node of all systems
repeat until the heap is empty, or its least bound is above every better value
    take the node of least bound, search below it in depth for a while, put back what stays open
        bound <- prices of the coefficients that are not 0
               + the cheaper class of each cell of points with one score
               + the largest flow between points of two classes that are never both right in the box
        if nothing below UB has this bound: drop the node
        a box of one system is judged; it may lower UB
        branch: is one more coefficient 0 or not (many features of few values), or: negative, 0, positive; then halve
    now and then a descent from a small support or from the incumbent
every split goes to the proof log where one is asked for""",
    "zero-one-bb": """
merge equal rows, rotate to the coordinates that matter, round rows outward
UB <- heuristic incumbent; cut <- UB - 0.9 tol UB
queue <- the region that holds every w with f(w) < cut
repeat until the queue is empty, or its least bound >= cut
    take a node, least bound first
    fix points that no (or every) w of the node keeps
    bound <- cost of the fixed points + hinge relaxation + matching of pairs that no w keeps both
    if bound >= cut: drop it
    polish w to an incumbent; lower UB and cut
    boxes (few coordinates): halve the box; norm-conflicts (more): branch on a set of points that cannot all be kept
lower bound <- least bound of open nodes, times what the rotation may have lost
every step goes to the proof log where one is asked for""",
}
